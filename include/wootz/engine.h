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
#include "wootz/level.h"
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

/// Numbers that an engine knows about itself, in bytes.
enum class EngineStat : int32_t {
  /// All weights.
  kTOTAL_WEIGHTS_SIZE = 0,
  /// Weights left out of the plan; -1 when it was not built stripped.
  kSTRIPPED_WEIGHTS_SIZE = 1,
};

template <>
struct impl::EnumMaxImpl<EngineStat> {
  static constexpr int32_t kVALUE = 2;
};

/// A loaded plan: steps, weights and the description of inputs and outputs. The name notwithstanding, it runs on
/// whichever device it was built for. Owned by whoever received it; it must outlive its contexts, inspectors and
/// refitters, but needs neither its runtime nor its plan any more.
///
/// Everything const may be called from any thread at any time, and any number of contexts may run at once. Tensors are
/// known by name. For a name that is not an input or output, methods return an empty, none or -1 value, and log an
/// error.
class ICudaEngine : public INoCopy {
 public:
  /// Number of inputs and outputs; inputs come first.
  virtual int32_t getNbIOTensors() const noexcept = 0;

  /// Name of one of them; valid as long as the engine. Null when out of range.
  virtual const char* getIOTensorName(int32_t index) const noexcept = 0;

  /// Input or output; kNONE for an unknown name.
  virtual TensorIOMode getTensorIOMode(const char* tensorName) const noexcept = 0;

  /// Extents, -1 where they are open; nbDims -1 for an unknown name.
  virtual Dims getTensorShape(const char* tensorName) const noexcept = 0;

  /// Type of the elements; kFLOAT for an unknown name.
  virtual DataType getTensorDataType(const char* tensorName) const noexcept = 0;

  /// kHOST for shape tensors: their values are read on the host when shapes are set. kDEVICE otherwise.
  virtual TensorLocation getTensorLocation(const char* tensorName) const noexcept = 0;

  /// True for an input whose values decide shapes, and for an output computed while shapes are inferred.
  virtual bool isShapeInferenceIO(const char* tensorName) const noexcept = 0;

  /// The input whose memory an output overwrites in place; null when it has its own.
  virtual const char* getAliasedInputTensor(const char* tensorName) const noexcept = 0;

  /// Memory layout, in profile 0 or the one given; kLINEAR for an unknown name.
  virtual TensorFormat getTensorFormat(const char* tensorName) const noexcept = 0;
  virtual TensorFormat getTensorFormat(const char* tensorName, int32_t profileIndex) const noexcept = 0;

  /// The layout in words; valid as long as the engine.
  virtual const char* getTensorFormatDesc(const char* tensorName) const noexcept = 0;
  virtual const char* getTensorFormatDesc(const char* tensorName, int32_t profileIndex) const noexcept = 0;

  /// Index of the dimension that is vectorised, -1 for none.
  virtual int32_t getTensorVectorizedDim(const char* tensorName) const noexcept = 0;
  virtual int32_t getTensorVectorizedDim(const char* tensorName, int32_t profileIndex) const noexcept = 0;

  /// Components in a vector, in profile 0 or the one given; 1 for formats that are not vectorised. Buffers are sized by
  /// this: the vectorised extent is rounded up to it.
  virtual int32_t getTensorComponentsPerElement(const char* tensorName) const noexcept = 0;
  virtual int32_t getTensorComponentsPerElement(const char* tensorName, int32_t profileIndex) const noexcept = 0;

  /// Bytes of one component of a vectorised format, in profile 0 or the one given; -1 when the format is not
  /// vectorised.
  virtual int32_t getTensorBytesPerComponent(const char* tensorName) const noexcept = 0;
  virtual int32_t getTensorBytesPerComponent(const char* tensorName, int32_t profileIndex) const noexcept = 0;

  /// Number of profiles, at least 1.
  virtual int32_t getNbOptimizationProfiles() const noexcept = 0;

  /// Shape of an input in a profile; its plain shape when it is not open. nbDims -1 on error.
  virtual Dims getProfileShape(const char* tensorName, int32_t profileIndex,
                               OptProfileSelector select) const noexcept = 0;

  /// Values of a shape tensor input in a profile; valid as long as the engine. Null when it is not one.
  virtual const int64_t* getProfileTensorValuesV2(const char* tensorName, int32_t profileIndex,
                                                  OptProfileSelector select) const noexcept = 0;

  WOOTZ_UNTIL_10
  /// As getProfileTensorValuesV2, for values set as 32-bit ones.
  TRT_DEPRECATED virtual const int32_t* getProfileTensorValues(const char* tensorName, int32_t profileIndex,
                                                               OptProfileSelector select) const noexcept = 0;

 public:
  /// A context for inference, with profile 0 chosen if it is free; owned by the caller. Null on failure.
  virtual IExecutionContext* createExecutionContext(
      ExecutionContextAllocationStrategy strategy = ExecutionContextAllocationStrategy::kSTATIC) noexcept = 0;

  /// A context with the options in `runtimeConfig`, which is read now.
  virtual IExecutionContext* createExecutionContext(IRuntimeConfig* runtimeConfig) noexcept = 0;

  WOOTZ_UNTIL_10
  /// A context with ExecutionContextAllocationStrategy::kUSER_MANAGED.
  TRT_DEPRECATED virtual IExecutionContext* createExecutionContextWithoutDeviceMemory() noexcept = 0;

 public:
  /// Options to fill in for the above; owned by the caller.
  virtual IRuntimeConfig* createRuntimeConfig() noexcept = 0;

  /// Bytes of activation memory for any profile, and for one; 0 when a profile does not exist.
  virtual int64_t getDeviceMemorySizeV2() const noexcept = 0;
  virtual int64_t getDeviceMemorySizeForProfileV2(int32_t profileIndex) const noexcept = 0;

  WOOTZ_UNTIL_10
  /// The same as size_t.
  TRT_DEPRECATED virtual size_t getDeviceMemorySize() const noexcept = 0;
  TRT_DEPRECATED virtual size_t getDeviceMemorySizeForProfile(int32_t profileIndex) const noexcept = 0;

 public:
  /// How many more streams than the enqueue's an inference uses; see IExecutionContext::setAuxStreams.
  virtual int32_t getNbAuxStreams() const noexcept = 0;

  /// The engine as a plan; owned by the caller. Null on failure.
  virtual IHostMemory* serialize() const noexcept = 0;

  /// As serialize, with options (SerializationFlag). The plan of an engine with stripped weights that was refitted can
  /// contain them again. Null on failure.
  virtual IHostMemory* serializeWithConfig(ISerializationConfig& config) const noexcept = 0;

  /// Options for serializeWithConfig; owned by the caller.
  virtual ISerializationConfig* createSerializationConfig() noexcept = 0;

  /// True when it was built so that an IRefitter can change its weights.
  virtual bool isRefittable() const noexcept = 0;

  /// Bytes of weights that can be streamed; 0 when it was not built with BuilderFlag::kWEIGHT_STREAMING.
  virtual int64_t getStreamableWeightsSize() const noexcept = 0;

  /// How many bytes of device memory weights may take; the rest is brought in during inference. At least
  /// getStreamableWeightsSize() stops streaming, the default. False when negative, when the engine does not stream, or
  /// while contexts exist.
  virtual bool setWeightStreamingBudgetV2(int64_t gpuMemoryBudget) noexcept = 0;
  virtual int64_t getWeightStreamingBudgetV2() const noexcept = 0;

  /// A budget fitting the device memory that is free now.
  virtual int64_t getWeightStreamingAutomaticBudget() const noexcept = 0;

  /// Bytes of device memory for weights on their way, on top of the budget.
  virtual int64_t getWeightStreamingScratchMemorySize() const noexcept = 0;

  WOOTZ_UNTIL_10
  /// V1 forms of the weight streaming budget: see setWeightStreamingBudgetV2. 0 meant automatic, -1 no streaming.
  TRT_DEPRECATED virtual bool setWeightStreamingBudget(int64_t gpuMemoryBudget) noexcept = 0;
  TRT_DEPRECATED virtual int64_t getWeightStreamingBudget() const noexcept = 0;
  TRT_DEPRECATED virtual int64_t getMinimumWeightStreamingBudget() const noexcept = 0;

 public:
  /// Tells what the engine consists of; owned by the caller.
  virtual IEngineInspector* createEngineInspector() const noexcept = 0;

  /// Name of the network it was built from; valid as long as the engine.
  virtual const char* getName() const noexcept = 0;

  /// Number of steps, after fusion; an upper bound when different profiles use different steps.
  virtual int32_t getNbLayers() const noexcept = 0;

  /// True when it was marked by INetworkDefinition::markDebug.
  virtual bool isDebugTensor(const char* name) const noexcept = 0;

  /// See EngineStat.
  virtual int64_t getEngineStat(EngineStat stat) const noexcept = 0;

  /// What environment it was built for.
  virtual EngineCapability getEngineCapability() const noexcept = 0;

  /// Which other GPUs it may run on, as chosen when building.
  virtual HardwareCompatibilityLevel getHardwareCompatibilityLevel() const noexcept = 0;

  /// Where its tactics come from, as bits.
  virtual TacticSources getTacticSources() const noexcept = 0;

  /// How much it tells about itself, as chosen when building.
  virtual ProfilingVerbosity getProfilingVerbosity() const noexcept = 0;

  WOOTZ_UNTIL_10
  /// Always false.
  TRT_DEPRECATED virtual bool hasImplicitBatchDimension() const noexcept = 0;

 public:
  /// Where errors of this engine and of contexts created from now on are recorded; null for none. Starts with the
  /// runtime's. Counts references to it.
  virtual void setErrorRecorder(IErrorRecorder* recorder) noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
};

}  // namespace nvinfer1
