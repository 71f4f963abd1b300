// ICudaEngine: a network made ready to run on a device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wootz/device.h"
#include "wootz/dims.h"
#include "wootz/dtype.h"
#include "wootz/enum_max.h"
#include "wootz/error_recorder.h"
#include "wootz/host_memory.h"
#include "wootz/macros.h"
#include "wootz/no_copy.h"
#include "wootz/profile.h"
#include "wootz/profiling_verbosity.h"
#include "wootz/runtime_config.h"
#include "wootz/serialization_config.h"
#include "wootz/tactic_source.h"
#include "wootz/tensor_enums.h"
#include "wootz/tensor_format.h"

namespace nvinfer1 {

class IEngineInspector;
class IExecutionContext;
enum class HardwareCompatibilityLevel : int32_t;

enum class EngineStat : int32_t {
  kTOTAL_WEIGHTS_SIZE = 0,
  kSTRIPPED_WEIGHTS_SIZE = 1,
};

template <>
struct impl::EnumMaxImpl<EngineStat> {
  static constexpr int32_t kVALUE = 2;
};

class ICudaEngine : public INoCopy {
 public:
  virtual Dims getTensorShape(const char* tensorName) const noexcept = 0;
  virtual DataType getTensorDataType(const char* tensorName) const noexcept = 0;
  virtual int32_t getNbLayers() const noexcept = 0;
  virtual IHostMemory* serialize() const noexcept = 0;
  virtual IExecutionContext* createExecutionContext(
      ExecutionContextAllocationStrategy strategy = ExecutionContextAllocationStrategy::kSTATIC) noexcept = 0;
  virtual TensorLocation getTensorLocation(const char* tensorName) const noexcept = 0;
  virtual bool isShapeInferenceIO(const char* tensorName) const noexcept = 0;
  virtual TensorIOMode getTensorIOMode(const char* tensorName) const noexcept = 0;
  virtual const char* getAliasedInputTensor(const char* tensorName) const noexcept = 0;
  TRT_DEPRECATED virtual IExecutionContext* createExecutionContextWithoutDeviceMemory() noexcept = 0;
  virtual IExecutionContext* createExecutionContext(IRuntimeConfig* runtimeConfig) noexcept = 0;
  virtual IRuntimeConfig* createRuntimeConfig() noexcept = 0;
  TRT_DEPRECATED virtual size_t getDeviceMemorySize() const noexcept = 0;
  TRT_DEPRECATED virtual size_t getDeviceMemorySizeForProfile(int32_t profileIndex) const noexcept = 0;
  virtual int64_t getDeviceMemorySizeV2() const noexcept = 0;
  virtual int64_t getDeviceMemorySizeForProfileV2(int32_t profileIndex) const noexcept = 0;
  virtual bool isRefittable() const noexcept = 0;
  virtual int32_t getTensorBytesPerComponent(const char* tensorName) const noexcept = 0;
  virtual int32_t getTensorBytesPerComponent(const char* tensorName, int32_t profileIndex) const noexcept = 0;
  virtual int32_t getTensorComponentsPerElement(const char* tensorName) const noexcept = 0;
  virtual int32_t getTensorComponentsPerElement(const char* tensorName, int32_t profileIndex) const noexcept = 0;
  virtual TensorFormat getTensorFormat(const char* tensorName) const noexcept = 0;
  virtual TensorFormat getTensorFormat(const char* tensorName, int32_t profileIndex) const noexcept = 0;
  virtual const char* getTensorFormatDesc(const char* tensorName) const noexcept = 0;
  virtual const char* getTensorFormatDesc(const char* tensorName, int32_t profileIndex) const noexcept = 0;
  virtual int32_t getTensorVectorizedDim(const char* tensorName) const noexcept = 0;
  virtual int32_t getTensorVectorizedDim(const char* tensorName, int32_t profileIndex) const noexcept = 0;
  virtual const char* getName() const noexcept = 0;
  virtual int32_t getNbOptimizationProfiles() const noexcept = 0;
  virtual Dims getProfileShape(const char* tensorName, int32_t profileIndex,
                               OptProfileSelector select) const noexcept = 0;
  TRT_DEPRECATED virtual const int32_t* getProfileTensorValues(const char* tensorName, int32_t profileIndex,
                                                               OptProfileSelector select) const noexcept = 0;
  virtual EngineCapability getEngineCapability() const noexcept = 0;
  virtual void setErrorRecorder(IErrorRecorder* recorder) noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
  TRT_DEPRECATED virtual bool hasImplicitBatchDimension() const noexcept = 0;
  virtual TacticSources getTacticSources() const noexcept = 0;
  virtual ProfilingVerbosity getProfilingVerbosity() const noexcept = 0;
  virtual IEngineInspector* createEngineInspector() const noexcept = 0;
  virtual int32_t getNbIOTensors() const noexcept = 0;
  virtual const char* getIOTensorName(int32_t index) const noexcept = 0;
  virtual HardwareCompatibilityLevel getHardwareCompatibilityLevel() const noexcept = 0;
  virtual int32_t getNbAuxStreams() const noexcept = 0;
  virtual ISerializationConfig* createSerializationConfig() noexcept = 0;
  virtual IHostMemory* serializeWithConfig(ISerializationConfig& config) const noexcept = 0;
  TRT_DEPRECATED virtual bool setWeightStreamingBudget(int64_t gpuMemoryBudget) noexcept = 0;
  TRT_DEPRECATED virtual int64_t getWeightStreamingBudget() const noexcept = 0;
  TRT_DEPRECATED virtual int64_t getMinimumWeightStreamingBudget() const noexcept = 0;
  virtual int64_t getStreamableWeightsSize() const noexcept = 0;
  virtual bool setWeightStreamingBudgetV2(int64_t gpuMemoryBudget) noexcept = 0;
  virtual int64_t getWeightStreamingBudgetV2() const noexcept = 0;
  virtual int64_t getWeightStreamingAutomaticBudget() const noexcept = 0;
  virtual int64_t getWeightStreamingScratchMemorySize() const noexcept = 0;
  virtual bool isDebugTensor(const char* name) const noexcept = 0;
  virtual const int64_t* getProfileTensorValuesV2(const char* tensorName, int32_t profileIndex,
                                                  OptProfileSelector select) const noexcept = 0;
  virtual int64_t getEngineStat(EngineStat stat) const noexcept = 0;
};

}  // namespace nvinfer1
