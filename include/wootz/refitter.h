// IRefitter: new weights for an engine that is already built.
#pragma once

#include <cstdint>

#include "wootz/cuda_types.h"
#include "wootz/error_recorder.h"
#include "wootz/logger.h"
#include "wootz/macros.h"
#include "wootz/no_copy.h"
#include "wootz/tensor_enums.h"
#include "wootz/weights.h"
#include "wootz/weights_role.h"

namespace nvinfer1 {

class IRefitter : public INoCopy {
 public:
  virtual bool setWeights(const char* layerName, WeightsRole role, Weights weights) noexcept = 0;
  virtual bool refitCudaEngine() noexcept = 0;
  virtual int32_t getMissing(int32_t size, const char** layerNames, WeightsRole* roles) noexcept = 0;
  virtual int32_t getAll(int32_t size, const char** layerNames, WeightsRole* roles) noexcept = 0;
  TRT_DEPRECATED virtual bool setDynamicRange(const char* tensorName, float min, float max) noexcept = 0;
  TRT_DEPRECATED virtual float getDynamicRangeMin(const char* tensorName) const noexcept = 0;
  TRT_DEPRECATED virtual float getDynamicRangeMax(const char* tensorName) const noexcept = 0;
  TRT_DEPRECATED virtual int32_t getTensorsWithDynamicRange(int32_t size, const char** tensorNames) const noexcept = 0;
  virtual void setErrorRecorder(IErrorRecorder* recorder) noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
  virtual bool setNamedWeights(const char* name, Weights weights) noexcept = 0;
  virtual int32_t getMissingWeights(int32_t size, const char** weightsNames) noexcept = 0;
  virtual int32_t getAllWeights(int32_t size, const char** weightsNames) noexcept = 0;
  virtual ILogger* getLogger() const noexcept = 0;
  virtual bool setMaxThreads(int32_t maxThreads) noexcept = 0;
  virtual int32_t getMaxThreads() const noexcept = 0;
  virtual bool setNamedWeights(const char* name, Weights weights, TensorLocation location) noexcept = 0;
  virtual Weights getNamedWeights(const char* weightsName) const noexcept = 0;
  virtual TensorLocation getWeightsLocation(const char* weightsName) const noexcept = 0;
  virtual bool unsetNamedWeights(const char* weightsName) noexcept = 0;
  virtual void setWeightsValidation(bool weightsValidation) noexcept = 0;
  virtual bool getWeightsValidation() const noexcept = 0;
  virtual bool refitCudaEngineAsync(cudaStream_t stream) noexcept = 0;
  virtual Weights getWeightsPrototype(const char* weightsName) const noexcept = 0;
};

}  // namespace nvinfer1
