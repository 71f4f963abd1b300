// IRuntime: loads engines from plans.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wootz/allocator.h"
#include "wootz/enum_max.h"
#include "wootz/error_recorder.h"
#include "wootz/level.h"
#include "wootz/logger.h"
#include "wootz/macros.h"
#include "wootz/no_copy.h"
#include "wootz/streams.h"

namespace nvinfer1 {

class ICudaEngine;
class IPluginRegistry;

/// What the runtime may do to load a native library that comes inside a plan.
enum class TempfileControlFlag : int32_t {
  /// Use a file that exists in memory only.
  kALLOW_IN_MEMORY_FILES = 0,
  /// Write a file to the temporary directory.
  kALLOW_TEMPORARY_FILES = 1,
};

template <>
struct impl::EnumMaxImpl<TempfileControlFlag> {
  static constexpr int32_t kVALUE = 2;
};

/// Bits 1U << TempfileControlFlag.
using TempfileControlFlags = uint32_t;

/// Loads plans; made by createInferRuntime. It may be deleted before its engines. deserializeCudaEngine is safe to call
/// from several threads at once; setters are not.
///
/// A plan is checked in full before anything of it is used, and a plan with data only may come from anywhere. Native
/// code in a plan (kernels, plugin libraries) is ignored unless setEngineHostCodeAllowed permitted it. A
/// version-compatible plan of another version is run by the runtime that it holds: without that permission it is
/// refused.
class IRuntime : public INoCopy {
 public:
  /// DLA core that engines run on. There is none here: getNbDLACores() is 0, and setting has no effect.
  virtual void setDLACore(int32_t dlaCore) noexcept = 0;
  virtual int32_t getDLACore() const noexcept = 0;
  virtual int32_t getNbDLACores() const noexcept = 0;

  /// Allocator for all memory of engines loaded from now on and of their contexts; null, the default, for the built-in
  /// one. It must outlive them.
  virtual void setGpuAllocator(IGpuAllocator* allocator) noexcept = 0;

  /// Where errors of this runtime and of engines loaded from now on are recorded; null, the default, for none. Counts
  /// references to it.
  virtual void setErrorRecorder(IErrorRecorder* recorder) noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;

  /// An engine from the `size` bytes of a plan at `blob`; owned by the caller. The bytes are not needed afterwards.
  /// Null when they are no plan, or not one for this version and device; the logger is told why.
  virtual ICudaEngine* deserializeCudaEngine(const void* blob, std::size_t size) noexcept = 0;

  WOOTZ_UNTIL_10
  /// The same from a stream.
  TRT_DEPRECATED virtual ICudaEngine* WOOTZ_OVERLOAD_UNTIL_10(deserializeCudaEngine)(IStreamReader& streamReader) = 0;

 public:
  virtual ICudaEngine* deserializeCudaEngine(IStreamReaderV2& streamReader) = 0;

  /// The logger the runtime was created with.
  virtual ILogger* getLogger() const noexcept = 0;

  /// Most threads, the caller's included, of loading and of inferences of engines that are loaded from now on; at least
  /// 1, and without this call as many as the process has. False for other numbers.
  virtual bool setMaxThreads(int32_t maxThreads) noexcept = 0;
  virtual int32_t getMaxThreads() const noexcept = 0;

  /// Folder for temporary files; null for the system's. One that is not there or cannot be written to is refused.
  virtual void setTemporaryDirectory(const char* path) noexcept = 0;
  virtual const char* getTemporaryDirectory() const noexcept = 0;

  /// See TempfileControlFlag; all are allowed by default. Other bits are refused.
  virtual void setTempfileControlFlags(TempfileControlFlags flags) noexcept = 0;
  virtual TempfileControlFlags getTempfileControlFlags() const noexcept = 0;

  /// This runtime's own registry, whose parent is the process-wide one. Lives as long as the runtime or any engine of
  /// it.
  virtual IPluginRegistry& getPluginRegistry() noexcept = 0;

  /// Another version of the runtime, from a shared library, for plans of that version; owned by the caller. Runs the
  /// library's native code. A name without a folder is looked for beside this library first, then where the system's
  /// loader looks. Null on failure.
  virtual IRuntime* loadRuntime(const char* path) noexcept = 0;

  /// Whether native code inside a plan may be used; false by default. Allow it for plans of trusted origin only.
  virtual void setEngineHostCodeAllowed(bool allowed) noexcept = 0;
  virtual bool getEngineHostCodeAllowed() const noexcept = 0;
};

}  // namespace nvinfer1
