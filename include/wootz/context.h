// IExecutionContext: one stream of inferences on an engine.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wootz/allocator.h"
#include "wootz/cuda_types.h"
#include "wootz/debug_listener.h"
#include "wootz/dims.h"
#include "wootz/error_recorder.h"
#include "wootz/level.h"
#include "wootz/macros.h"
#include "wootz/no_copy.h"
#include "wootz/output_allocator.h"
#include "wootz/profiler.h"
#include "wootz/profiling_verbosity.h"

namespace nvinfer1 {

class ICudaEngine;
class IRuntimeConfig;

/// State of inference: chosen profile, input shapes, addresses, activation memory. Create as many as run at once; one
/// context must not be used from two threads at the same time, nor deleted or changed while its inference is in a
/// stream.
///
/// The order is: choose a profile if not 0, give shapes to inputs with open dimensions, give every input and output an
/// address, enqueue. All of it stays set for the next inference. On a CPU engine addresses are host addresses, and a
/// stream is a host stream or null, which means "finish before returning". Methods returning bool log the reason when
/// they return false.
class IExecutionContext : public INoCopy {
 public:
  /// The engine it was created from.
  virtual const ICudaEngine& getEngine() const noexcept = 0;

  /// A name for logs and errors, copied.
  virtual void setName(const char* name) noexcept = 0;
  virtual const char* getName() const noexcept = 0;

  /// Chooses a profile, in order with `stream`, and forgets all input shapes. Two contexts may use one profile. False
  /// for an index out of range.
  virtual bool setOptimizationProfileAsync(int32_t profileIndex, cudaStream_t stream) noexcept = 0;

  /// The profile in use; -1 when none is chosen yet.
  virtual int32_t getOptimizationProfile() const noexcept = 0;

  /// Shape of an input, within the profile's range; all extents given. Values of shape tensor inputs must be at their
  /// address by the next call that needs shapes.
  virtual bool setInputShape(const char* tensorName, const Dims& dims) noexcept = 0;

  /// True when every open input has a shape.
  virtual bool allInputDimensionsSpecified() const noexcept = 0;

  WOOTZ_UNTIL_10
  /// True when every open input has a shape, and every shape tensor input has values.
  TRT_DEPRECATED virtual bool allInputShapesSpecified() const noexcept = 0;

 public:
  /// Works out everything that input shapes decide. Returns 0 when all is known; otherwise how many inputs lack a shape
  /// or values, with up to `nbMaxNames` of their names in `tensorNames`; -1 on error. Enqueue does this by itself.
  virtual int32_t inferShapes(int32_t nbMaxNames, const char** tensorNames) noexcept = 0;

  /// Shape of an input or output, given those of the inputs: -1 extents while inputs are open or the extent depends on
  /// data; nbDims -1 for an unknown name.
  virtual Dims getTensorShape(const char* tensorName) const noexcept = 0;

  /// Strides in elements, or in vectors when the format is vectorised, for the shapes now set.
  virtual Dims getTensorStrides(const char* tensorName) const noexcept = 0;

  /// Upper bound of an output's size in bytes, for the input shapes now set; -1 on error. What an inference finds (the
  /// places that are not zero, boxes) is bounded by what it is found in; where nothing bounds it, -1.
  virtual int64_t getMaxOutputSize(const char* tensorName) const noexcept = 0;

  /// Address of an input or output, aligned to 256 on a GPU. Device memory, host memory for shape tensors, host memory
  /// in any case on a CPU engine. Null takes it back, allowed for outputs with an allocator.
  virtual bool setTensorAddress(const char* tensorName, void* data) noexcept = 0;

  /// Address of an input or output; null when there is none.
  virtual const void* getTensorAddress(const char* tensorName) const noexcept = 0;

  /// As setTensorAddress, for an output alone, or for an input alone, whose memory then may be constant.
  virtual bool setOutputTensorAddress(const char* tensorName, void* data) noexcept = 0;
  virtual bool setInputTensorAddress(const char* tensorName, const void* data) noexcept = 0;

  /// Address of an output; null when there is none.
  virtual void* getOutputTensorAddress(const char* tensorName) const noexcept = 0;

  /// Memory for an output on demand, in place of an address; null takes it back. Needed where an extent depends on data
  /// and its bound would be wasteful. It must outlive its use.
  virtual bool setOutputAllocator(const char* tensorName, IOutputAllocator* outputAllocator) noexcept = 0;
  virtual IOutputAllocator* getOutputAllocator(const char* tensorName) const noexcept = 0;

  /// Puts one inference on `stream` and returns. False when it could not; errors of the work itself come from the
  /// stream. Inputs must stay unchanged until the stream gets there. Nothing is allocated once shapes have been seen,
  /// and a graph capture of the stream is allowed.
  virtual bool enqueueV3(cudaStream_t stream) noexcept = 0;

  /// One inference, finished on return: an address per input and output in the engine's order. False on failure.
  virtual bool executeV2(void* const* bindings) noexcept = 0;

  /// Event recorded when the inputs have been read and their memory may be reused; null for none.
  virtual bool setInputConsumedEvent(cudaEvent_t event) noexcept = 0;
  virtual cudaEvent_t getInputConsumedEvent() const noexcept = 0;

  /// Streams of the application's for the engine's auxiliary work (ICudaEngine::getNbAuxStreams() of them; missing ones
  /// are made). Null and 0 takes them back. They must outlive their use. An inference that replays its own recording
  /// does not need them: they are used where the application captures the stream of the enqueue.
  virtual void setAuxStreams(cudaStream_t* auxStreams, int32_t nbStreams) noexcept = 0;

  /// Activation memory, for ExecutionContextAllocationStrategy::kUSER_MANAGED: `size` bytes, aligned to 256, at least
  /// what getDeviceMemorySizeV2 or updateDeviceMemorySizeForShapes says. It may be shared by contexts that do not run
  /// at the same time, and must stay until inference is over.
  virtual void setDeviceMemoryV2(void* memory, int64_t size) noexcept = 0;

  /// As setDeviceMemoryV2, trusting the size to be enough.
  virtual void setDeviceMemory(void* memory) noexcept = 0;

  /// Bytes of activation memory for exactly the shapes now set; 0 on error. With kUSER_MANAGED, set memory afterwards.
  virtual size_t updateDeviceMemorySizeForShapes() noexcept = 0;

  /// Allocator for memory whose size an inference finds; null for the engine's. What was taken before is given back.
  virtual bool setTemporaryStorageAllocator(IGpuAllocator* allocator) noexcept = 0;
  virtual IGpuAllocator* getTemporaryStorageAllocator() const noexcept = 0;

  /// Bytes of the device's cache that may be set aside for activations; 0 by default. More than the device has (none on
  /// the processor) is refused and logged. wootz_device_persisting_cache() says how much.
  virtual void setPersistentCacheLimit(size_t size) noexcept = 0;
  virtual size_t getPersistentCacheLimit() const noexcept = 0;

  /// Receiver of step times; null, the default, for none. It must outlive the context. On a GPU times are part of what
  /// is replayed, of CUDA graphs of the application's too, and steps run one after the other. Without
  /// setEnqueueEmitsProfile(false), each inference is then followed by a synchronization.
  virtual void setProfiler(IProfiler* profiler) noexcept = 0;
  virtual IProfiler* getProfiler() const noexcept = 0;

  /// Whether enqueueV3 reports to the profiler by itself, which synchronizes; true by default. With false, call
  /// reportToProfiler when the stream is through.
  virtual void setEnqueueEmitsProfile(bool enqueueEmitsProfile) noexcept = 0;
  virtual bool getEnqueueEmitsProfile() const noexcept = 0;

  /// Reports the last inference to the profiler, or the last launch of a graph that one was captured into; waits for
  /// it. False when there is no profiler, no inference, or it has been reported.
  virtual bool reportToProfiler() const noexcept = 0;

  /// How much NVTX ranges tell, at most what the engine was built with: nothing, the steps' names, or also their
  /// tactics. False for more.
  virtual bool setNvtxVerbosity(ProfilingVerbosity verbosity) noexcept = 0;
  virtual ProfilingVerbosity getNvtxVerbosity() const noexcept = 0;

  /// Synchronize after every step, and check for errors; false by default. Slow.
  virtual void setDebugSync(bool sync) noexcept = 0;
  virtual bool getDebugSync() const noexcept = 0;

  /// Receiver of debug tensors; null, the default, for none. It must outlive the context.
  virtual bool setDebugListener(IDebugListener* listener) noexcept = 0;
  virtual IDebugListener* getDebugListener() noexcept = 0;

  /// Turns a debug tensor on or off; all are off at first. False for a tensor that was not marked.
  virtual bool setTensorDebugState(const char* name, bool flag) noexcept = 0;
  virtual bool getDebugState(const char* name) const noexcept = 0;

  /// Turns all marked tensors on or off.
  virtual bool setAllTensorsDebugState(bool flag) noexcept = 0;

  /// Turns all tensors between steps on or off; needs INetworkDefinition::markUnfusedTensorsAsDebugTensors.
  virtual bool setUnfusedTensorsDebugState(bool flag) noexcept = 0;
  virtual bool getUnfusedTensorsDebugState() const noexcept = 0;

  /// Options the context was created with; owned by it.
  virtual IRuntimeConfig* getRuntimeConfig() const noexcept = 0;

  /// An ncclComm_t, of the engine's GPU and with as many ranks as its layers that span devices were built for; null:
  /// none, and such an engine runs no inference. It must outlive the context, or its replacement by another one. Where
  /// layers have groups it is split, so that all ranks must make this call at the same time, each on a thread of its
  /// own. False for an engine without such layers.
  virtual bool setCommunicator(void* communicator) noexcept = 0;

  /// Where errors of this context are recorded; null for none. Starts with the engine's. Counts references to it.
  virtual void setErrorRecorder(IErrorRecorder* recorder) noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
};

}  // namespace nvinfer1
