// ICudaEngine over a loaded program.
#pragma once

#include "api/runtime/convert.h"
#include "api/runtime/memory_log.h"
#include "api/runtime/reporter.h"
#include "api/runtime/tensor_formats.h"
#include "backend/refit.h"
#include "runtime/report/engine_info.h"

namespace wootz::api {

class EngineImpl final : public nvinfer1::ICudaEngine {
 public:
  EngineImpl(std::shared_ptr<const EngineInfo> info, const Reporter& reporter, nvinfer1::IGpuAllocator* allocator);

  const std::shared_ptr<const EngineInfo>& info() const { return info_; }
  const Reporter& reporter() const { return reporter_; }
  // The application's, for the device's memory; may be null.
  nvinfer1::IGpuAllocator* allocator() const { return allocator_; }
  // As refitters know them, whose names live as long as the engine; none of one that is not refittable.
  const std::vector<RefitWeight>& weights() const { return weights_; }

  int32_t getNbIOTensors() const noexcept override { return static_cast<int32_t>(info_->ios().size()); }
  const char* getIOTensorName(int32_t index) const noexcept override;
  nvinfer1::TensorIOMode getTensorIOMode(const char* tensorName) const noexcept override;
  nvinfer1::Dims getTensorShape(const char* tensorName) const noexcept override;
  nvinfer1::DataType getTensorDataType(const char* tensorName) const noexcept override;
  nvinfer1::TensorLocation getTensorLocation(const char* tensorName) const noexcept override;
  bool isShapeInferenceIO(const char* tensorName) const noexcept override;
  const char* getAliasedInputTensor(const char* tensorName) const noexcept override;
  nvinfer1::TensorFormat getTensorFormat(const char* tensorName) const noexcept override;
  nvinfer1::TensorFormat getTensorFormat(const char* tensorName, int32_t profileIndex) const noexcept override;
  const char* getTensorFormatDesc(const char* tensorName) const noexcept override;
  const char* getTensorFormatDesc(const char* tensorName, int32_t profileIndex) const noexcept override;
  int32_t getTensorVectorizedDim(const char* tensorName) const noexcept override;
  int32_t getTensorVectorizedDim(const char* tensorName, int32_t profileIndex) const noexcept override;
  int32_t getTensorComponentsPerElement(const char* tensorName) const noexcept override;
  int32_t getTensorComponentsPerElement(const char* tensorName, int32_t profileIndex) const noexcept override;
  int32_t getTensorBytesPerComponent(const char* tensorName) const noexcept override;
  int32_t getTensorBytesPerComponent(const char* tensorName, int32_t profileIndex) const noexcept override;
  int32_t getNbOptimizationProfiles() const noexcept override { return static_cast<int32_t>(info_->num_profiles()); }
  nvinfer1::Dims getProfileShape(const char* tensorName, int32_t profileIndex,
                                 nvinfer1::OptProfileSelector select) const noexcept override;
  const int64_t* getProfileTensorValuesV2(const char* tensorName, int32_t profileIndex,
                                          nvinfer1::OptProfileSelector select) const noexcept override;
  const int32_t* getProfileTensorValues(const char* tensorName, int32_t profileIndex,
                                        nvinfer1::OptProfileSelector select) const noexcept override;
  nvinfer1::IExecutionContext* createExecutionContext(
      nvinfer1::ExecutionContextAllocationStrategy strategy) noexcept override;
  nvinfer1::IExecutionContext* createExecutionContext(nvinfer1::IRuntimeConfig* runtimeConfig) noexcept override;
  nvinfer1::IExecutionContext* createExecutionContextWithoutDeviceMemory() noexcept override;
  nvinfer1::IRuntimeConfig* createRuntimeConfig() noexcept override;
  int64_t getDeviceMemorySizeV2() const noexcept override;
  int64_t getDeviceMemorySizeForProfileV2(int32_t profileIndex) const noexcept override;
  size_t getDeviceMemorySize() const noexcept override;
  size_t getDeviceMemorySizeForProfile(int32_t profileIndex) const noexcept override;
  int32_t getNbAuxStreams() const noexcept override;
  nvinfer1::IHostMemory* serialize() const noexcept override;
  nvinfer1::IHostMemory* serializeWithConfig(nvinfer1::ISerializationConfig& config) const noexcept override;
  nvinfer1::ISerializationConfig* createSerializationConfig() noexcept override;
  bool isRefittable() const noexcept override { return info_->program().refit != nullptr; }
  int64_t getStreamableWeightsSize() const noexcept override { return streamable_; }
  bool setWeightStreamingBudgetV2(int64_t gpuMemoryBudget) noexcept override;
  int64_t getWeightStreamingBudgetV2() const noexcept override;
  int64_t getWeightStreamingAutomaticBudget() const noexcept override;
  int64_t getWeightStreamingScratchMemorySize() const noexcept override;
  bool setWeightStreamingBudget(int64_t gpuMemoryBudget) noexcept override;
  int64_t getWeightStreamingBudget() const noexcept override;
  int64_t getMinimumWeightStreamingBudget() const noexcept override;
  nvinfer1::IEngineInspector* createEngineInspector() const noexcept override;
  const char* getName() const noexcept override { return info_->program().name.c_str(); }
  int32_t getNbLayers() const noexcept override { return static_cast<int32_t>(info_->program().steps.size()); }
  bool isDebugTensor(const char* name) const noexcept override;
  int64_t getEngineStat(nvinfer1::EngineStat stat) const noexcept override;
  nvinfer1::EngineCapability getEngineCapability() const noexcept override {
    return nvinfer1::EngineCapability::kSTANDARD;
  }
  nvinfer1::HardwareCompatibilityLevel getHardwareCompatibilityLevel() const noexcept override;
  nvinfer1::TacticSources getTacticSources() const noexcept override;
  nvinfer1::ProfilingVerbosity getProfilingVerbosity() const noexcept override;
  bool hasImplicitBatchDimension() const noexcept override { return false; }
  void setErrorRecorder(nvinfer1::IErrorRecorder* recorder) noexcept override { reporter_.set_recorder(recorder); }
  nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept override { return reporter_.recorder(); }

 private:
  // The tensor, or null after reporting.
  const TensorFormatInfo& look_up_format(const char* call, const char* name, int32_t profile) const noexcept;
  const IoInfo* look_up(const char* call, const char* name) const noexcept;
  Status check_profile(int32_t profile) const;
  Result<RawBytes> plan_with(const nvinfer1::ISerializationConfig& config) const;

  std::shared_ptr<const EngineInfo> info_;
  Reporter reporter_;
  Status set_budget(int64_t bytes);
  // Memory that a context has for weights on their way.
  size_t weight_scratch() const;

  nvinfer1::IGpuAllocator* allocator_;
  bool stripped_;                                                  // its plan had no weights
  int64_t streamable_ = 0;                                         // bytes
  std::shared_ptr<const int> contexts_ = std::make_shared<int>();  // one more owner each
  std::vector<RefitWeight> weights_;
  HeldMemory held_;
};

}  // namespace wootz::api
