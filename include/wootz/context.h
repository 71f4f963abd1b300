// IExecutionContext: one stream of inferences on an engine.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wootz/allocator.h"
#include "wootz/cuda_types.h"
#include "wootz/debug_listener.h"
#include "wootz/dims.h"
#include "wootz/error_recorder.h"
#include "wootz/macros.h"
#include "wootz/no_copy.h"
#include "wootz/output_allocator.h"
#include "wootz/profiler.h"
#include "wootz/profiling_verbosity.h"

namespace nvinfer1 {

class ICudaEngine;
class IRuntimeConfig;

class IExecutionContext : public INoCopy {
 public:
  virtual void setDebugSync(bool sync) noexcept = 0;
  virtual bool getDebugSync() const noexcept = 0;
  virtual void setProfiler(IProfiler* profiler) noexcept = 0;
  virtual IProfiler* getProfiler() const noexcept = 0;
  virtual const ICudaEngine& getEngine() const noexcept = 0;
  virtual void setName(const char* name) noexcept = 0;
  virtual const char* getName() const noexcept = 0;
  virtual void setDeviceMemory(void* memory) noexcept = 0;
  virtual void setDeviceMemoryV2(void* memory, int64_t size) noexcept = 0;
  virtual Dims getTensorStrides(const char* tensorName) const noexcept = 0;
  virtual int32_t getOptimizationProfile() const noexcept = 0;
  virtual bool setInputShape(const char* tensorName, const Dims& dims) noexcept = 0;
  virtual Dims getTensorShape(const char* tensorName) const noexcept = 0;
  virtual bool allInputDimensionsSpecified() const noexcept = 0;
  TRT_DEPRECATED virtual bool allInputShapesSpecified() const noexcept = 0;
  virtual void setErrorRecorder(IErrorRecorder* recorder) noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
  virtual bool executeV2(void* const* bindings) noexcept = 0;
  virtual bool setOptimizationProfileAsync(int32_t profileIndex, cudaStream_t stream) noexcept = 0;
  virtual void setEnqueueEmitsProfile(bool enqueueEmitsProfile) noexcept = 0;
  virtual bool getEnqueueEmitsProfile() const noexcept = 0;
  virtual bool reportToProfiler() const noexcept = 0;
  virtual bool setTensorAddress(const char* tensorName, void* data) noexcept = 0;
  virtual const void* getTensorAddress(const char* tensorName) const noexcept = 0;
  virtual bool setOutputTensorAddress(const char* tensorName, void* data) noexcept = 0;
  virtual bool setInputTensorAddress(const char* tensorName, const void* data) noexcept = 0;
  virtual void* getOutputTensorAddress(const char* tensorName) const noexcept = 0;
  virtual int32_t inferShapes(int32_t nbMaxNames, const char** tensorNames) noexcept = 0;
  virtual size_t updateDeviceMemorySizeForShapes() noexcept = 0;
  virtual bool setInputConsumedEvent(cudaEvent_t event) noexcept = 0;
  virtual cudaEvent_t getInputConsumedEvent() const noexcept = 0;
  virtual bool setOutputAllocator(const char* tensorName, IOutputAllocator* outputAllocator) noexcept = 0;
  virtual IOutputAllocator* getOutputAllocator(const char* tensorName) const noexcept = 0;
  virtual int64_t getMaxOutputSize(const char* tensorName) const noexcept = 0;
  virtual bool setTemporaryStorageAllocator(IGpuAllocator* allocator) noexcept = 0;
  virtual IGpuAllocator* getTemporaryStorageAllocator() const noexcept = 0;
  virtual bool enqueueV3(cudaStream_t stream) noexcept = 0;
  virtual void setPersistentCacheLimit(size_t size) noexcept = 0;
  virtual size_t getPersistentCacheLimit() const noexcept = 0;
  virtual bool setNvtxVerbosity(ProfilingVerbosity verbosity) noexcept = 0;
  virtual ProfilingVerbosity getNvtxVerbosity() const noexcept = 0;
  virtual void setAuxStreams(cudaStream_t* auxStreams, int32_t nbStreams) noexcept = 0;
  virtual bool setDebugListener(IDebugListener* listener) noexcept = 0;
  virtual IDebugListener* getDebugListener() noexcept = 0;
  virtual bool setTensorDebugState(const char* name, bool flag) noexcept = 0;
  virtual bool getDebugState(const char* name) const noexcept = 0;
  virtual IRuntimeConfig* getRuntimeConfig() const noexcept = 0;
  virtual bool setAllTensorsDebugState(bool flag) noexcept = 0;
  virtual bool setUnfusedTensorsDebugState(bool flag) noexcept = 0;
  virtual bool getUnfusedTensorsDebugState() const noexcept = 0;
  virtual bool setCommunicator(void* communicator) noexcept = 0;
};

}  // namespace nvinfer1
