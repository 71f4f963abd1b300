// ILogger and ILoggerFinder.
#pragma once

#include <cstdint>

#include "wootz/char_types.h"
#include "wootz/enum_max.h"

namespace nvinfer1 {

/// Receives messages, implemented by the application. One logger given to a factory serves every object created from
/// it, so it must outlive them all. log() may be called from several threads at once.
class ILogger {
 public:
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

template <>
struct impl::EnumMaxImpl<ILogger::Severity> {
  static constexpr int32_t kVALUE = 5;
};

/// Handed to a plugin library's setLoggerFinder, so that the library can log where its host logs.
class ILoggerFinder {
 public:
  /// The logger of the builder or runtime that is calling into the plugin on this thread.
  virtual ILogger* findLogger() = 0;

  virtual ~ILoggerFinder() = default;
};

}  // namespace nvinfer1
