// IRefitter: new weights for an engine that is already built.
#pragma once

#include <cstdint>

#include "wootz/cuda_types.h"
#include "wootz/error_recorder.h"
#include "wootz/level.h"
#include "wootz/logger.h"
#include "wootz/macros.h"
#include "wootz/no_copy.h"
#include "wootz/tensor_enums.h"
#include "wootz/weights.h"
#include "wootz/weights_role.h"

namespace nvinfer1 {

/// Replaces weights of an engine that was built with BuilderFlag::kREFIT, kREFIT_IDENTICAL or kREFIT_INDIVIDUAL. First
/// all new weights are set, then refitCudaEngine applies them: weights that were folded or packed together are made
/// anew from their sources, so all weights that the plan lacks must be set (getMissing tells). Weights are known by
/// layer and role or, if they were named, by name. Not safe to use from several threads at once, nor during an
/// inference of the engine.
class IRefitter : public INoCopy {
 public:
  /// Offers weights by name, in host memory. They are not copied: they must stay until the refit is done. False for an
  /// unknown name, a wrong count or type, or a non-finite value when validation is on.
  virtual bool setNamedWeights(const char* name, Weights weights) noexcept = 0;

  /// The same in memory at `location`.
  virtual bool setNamedWeights(const char* name, Weights weights, TensorLocation location) noexcept = 0;

  /// Weights offered under a name; count 0 when none are.
  virtual Weights getNamedWeights(const char* weightsName) const noexcept = 0;

  /// Where weights offered under a name are; kHOST when none are.
  virtual TensorLocation getWeightsLocation(const char* weightsName) const noexcept = 0;

  /// Takes an offer back. False when there was none.
  virtual bool unsetNamedWeights(const char* weightsName) noexcept = 0;

  /// Type and count that weights of a name must have; `values` is null. Count -1 for an unknown name.
  virtual Weights getWeightsPrototype(const char* weightsName) const noexcept = 0;

  /// What else must be set before a refit can succeed, and everything that can be refitted: writes up to `size` names,
  /// null allowed with 0, and returns how many there are. Names live as long as the engine.
  virtual int32_t getMissingWeights(int32_t size, const char** weightsNames) noexcept = 0;
  virtual int32_t getAllWeights(int32_t size, const char** weightsNames) noexcept = 0;

  /// As setNamedWeights, by layer and role.
  virtual bool setWeights(const char* layerName, WeightsRole role, Weights weights) noexcept = 0;

  /// As getMissingWeights and getAllWeights, by layer and role; either array may be null.
  virtual int32_t getMissing(int32_t size, const char** layerNames, WeightsRole* roles) noexcept = 0;
  virtual int32_t getAll(int32_t size, const char** layerNames, WeightsRole* roles) noexcept = 0;

  /// Applies what was set, and forgets it. False, and the engine unchanged, when something is missing or fails.
  /// Contexts of the engine use the new weights from their next inference on.
  virtual bool refitCudaEngine() noexcept = 0;

  /// As refitCudaEngine, in order with `stream`: weights and engine must be left alone until the stream gets there.
  /// False when it could not even begin.
  virtual bool refitCudaEngineAsync(cudaStream_t stream) noexcept = 0;

  /// Whether offered weights are checked for non-finite values; true by default.
  virtual void setWeightsValidation(bool weightsValidation) noexcept = 0;
  virtual bool getWeightsValidation() const noexcept = 0;

  /// How many threads a refit may use; at least 1. False for other numbers.
  virtual bool setMaxThreads(int32_t maxThreads) noexcept = 0;
  virtual int32_t getMaxThreads() const noexcept = 0;

  WOOTZ_UNTIL_10
  /// A tensor's new dynamic range, for engines with implicit quantization. False when it cannot be refitted.
  TRT_DEPRECATED virtual bool setDynamicRange(const char* tensorName, float min, float max) noexcept = 0;

  /// Bounds in force of a tensor's dynamic range; NaN for an unknown tensor.
  TRT_DEPRECATED virtual float getDynamicRangeMin(const char* tensorName) const noexcept = 0;
  TRT_DEPRECATED virtual float getDynamicRangeMax(const char* tensorName) const noexcept = 0;

  /// Names of the tensors with a refittable dynamic range; counts as getMissingWeights does.
  TRT_DEPRECATED virtual int32_t getTensorsWithDynamicRange(int32_t size, const char** tensorNames) const noexcept = 0;

 public:
  /// The logger the refitter was created with.
  virtual ILogger* getLogger() const noexcept = 0;

  /// Where errors are recorded; null, the default, for none. Counts references to it.
  virtual void setErrorRecorder(IErrorRecorder* recorder) noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
};

}  // namespace nvinfer1
