#include "api/runtime/plugins/logger_finder.h"

#include "api/runtime/level_11.h"
#include "api/runtime/reporter.h"

namespace wootz::api {
namespace {

thread_local AppLogger current;

AppLogger logger_of_caller() noexcept { return current.object != nullptr ? current : process_logger(); }

void log_to_caller(int32_t severity, const char* text) noexcept {
  const AppLogger logger = logger_of_caller();
  if (logger.object != nullptr && logger.level != ApiLevel::kUnknown)
    logger.log(static_cast<nvinfer1::ILogger::Severity>(severity), text);
}

// For libraries of another level than the program, and where there is no logger.
class Forwarding final : public nvinfer1::ILogger {
 public:
  void log(Severity severity, const nvinfer1::AsciiChar* text) noexcept override {
    log_to_caller(static_cast<int32_t>(severity), text);
  }
};

// An ILoggerFinder to libraries of either level, since nothing says of which a library is: at level 10 the class has
// findLogger alone, in the first place; at level 11 it comes after the functions of IVersionedInterface. The functions
// here are in those places. A library of level 11 that asked for the language would get no answer; none has a reason to.
class Finder {
 public:
  virtual void* find_at_10() noexcept {
    static auto* const forwarding = new Forwarding;
    const AppLogger logger = logger_of_caller();
    return logger.level == ApiLevel::k10 && logger.object != nullptr ? logger.object : forwarding;
  }
  virtual nvinfer1::InterfaceInfo info() const noexcept { return {"ILoggerFinder", 1, 0}; }
  virtual ~Finder() = default;  // two places
  virtual void* find_at_11() noexcept {
    static void* const forwarding = level_11::make_logger(log_to_caller);
    const AppLogger logger = logger_of_caller();
    return logger.level == ApiLevel::k11 && logger.object != nullptr ? logger.object : forwarding;
  }
};

}  // namespace

LoggerScope::LoggerScope(AppLogger logger) noexcept : before_(current) {
  if (logger.object != nullptr) current = logger;
}
LoggerScope::~LoggerScope() { current = before_; }

void give_logger_finder(void* set_logger_finder) {
  static auto* const finder = new Finder;
  reinterpret_cast<void (*)(void*)>(set_logger_finder)(finder);
}

}  // namespace wootz::api
