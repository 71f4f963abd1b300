// ILogger and ILoggerFinder.
#pragma once

#include <cstdint>

#include "wootz/char_types.h"
#include "wootz/enum_max.h"
#include "wootz/level.h"
#include "wootz/versioned_interface.h"

namespace nvinfer1 {

#if NV_TENSORRT_MAJOR >= 11
namespace v_1_0 {
#endif

/// Receives messages, implemented by the application. One logger given to a factory serves every object created from
/// it, so it must outlive them all. log() may be called from several threads at once.
#if NV_TENSORRT_MAJOR >= 11
class ILogger : public IVersionedInterface {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"ILogger", 1, 0}; }

#else
class ILogger {
 public:
#endif
  /// How bad it is; smaller is worse.
  enum class Severity : int32_t {
    /// A fault of the library.
    kINTERNAL_ERROR = 0,
    /// The call failed.
    kERROR = 1,
    /// The call goes on, but probably not as meant: a value clamped, an option ignored.
    kWARNING = 2,
    kINFO = 3,
    /// Detail for debugging: every pass, every tactic timed.
    kVERBOSE = 4,
  };

  /// `msg` is valid during the call only. Must not throw, nor call back into the library.
  virtual void log(Severity severity, const AsciiChar* msg) noexcept = 0;

  ILogger() = default;
  virtual ~ILogger() = default;

 protected:
  ILogger(const ILogger&) = default;
  ILogger(ILogger&&) = default;
  ILogger& operator=(const ILogger&) & = default;
  ILogger& operator=(ILogger&&) & = default;
};

/// What IPluginRegistry::loadLibrary hands to a library that exports `void setLoggerFinder(ILoggerFinder*)`; it lasts as
/// long as the process.
#if NV_TENSORRT_MAJOR >= 11
class ILoggerFinder : public IVersionedInterface {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"ILoggerFinder", 1, 0}; }

#else
class ILoggerFinder {
 public:
#endif
  /// The logger of the builder, runtime or engine that is calling into the plugin on this thread; on a thread that none
  /// calls on, the process's. Never null.
  virtual ILogger* findLogger() = 0;

 protected:
  virtual ~ILoggerFinder() = default;
};

#if NV_TENSORRT_MAJOR >= 11
}  // namespace v_1_0

using ILogger = v_1_0::ILogger;
using ILoggerFinder = v_1_0::ILoggerFinder;
#endif

template <>
struct impl::EnumMaxImpl<ILogger::Severity> {
  static constexpr int32_t kVALUE = 5;
};

}  // namespace nvinfer1
