// IRuntime: loads engines from plans.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wootz/allocator.h"
#include "wootz/enum_max.h"
#include "wootz/error_recorder.h"
#include "wootz/logger.h"
#include "wootz/macros.h"
#include "wootz/no_copy.h"
#include "wootz/streams.h"

namespace nvinfer1 {

class ICudaEngine;
class IPluginRegistry;

enum class TempfileControlFlag : int32_t {
  kALLOW_IN_MEMORY_FILES = 0,
  kALLOW_TEMPORARY_FILES = 1,
};

template <>
struct impl::EnumMaxImpl<TempfileControlFlag> {
  static constexpr int32_t kVALUE = 2;
};

/// Bits 1U << TempfileControlFlag.
using TempfileControlFlags = uint32_t;

class IRuntime : public INoCopy {
 public:
  virtual void setDLACore(int32_t dlaCore) noexcept = 0;
  virtual int32_t getDLACore() const noexcept = 0;
  virtual int32_t getNbDLACores() const noexcept = 0;
  virtual void setGpuAllocator(IGpuAllocator* allocator) noexcept = 0;
  virtual void setErrorRecorder(IErrorRecorder* recorder) noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
  virtual ICudaEngine* deserializeCudaEngine(const void* blob, std::size_t size) noexcept = 0;
  TRT_DEPRECATED virtual ICudaEngine* deserializeCudaEngine(IStreamReader& streamReader) noexcept = 0;
  virtual ICudaEngine* deserializeCudaEngine(IStreamReaderV2& streamReader) noexcept = 0;
  virtual ILogger* getLogger() const noexcept = 0;
  virtual bool setMaxThreads(int32_t maxThreads) noexcept = 0;
  virtual int32_t getMaxThreads() const noexcept = 0;
  virtual void setTemporaryDirectory(const char* path) noexcept = 0;
  virtual const char* getTemporaryDirectory() const noexcept = 0;
  virtual void setTempfileControlFlags(TempfileControlFlags flags) noexcept = 0;
  virtual TempfileControlFlags getTempfileControlFlags() const noexcept = 0;
  virtual IPluginRegistry& getPluginRegistry() noexcept = 0;
  virtual IRuntime* loadRuntime(const char* path) noexcept = 0;
  virtual void setEngineHostCodeAllowed(bool allowed) noexcept = 0;
  virtual bool getEngineHostCodeAllowed() const noexcept = 0;
};

}  // namespace nvinfer1
