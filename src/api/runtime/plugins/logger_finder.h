// The logger that a plugin's code finds (ILoggerFinder): that of the object of the API which calls it on this thread.
#pragma once

#include "api/runtime/level.h"

namespace wootz::api {

// Around what may call plugins. A logger that is null leaves the scope around it in place.
class LoggerScope {
 public:
  explicit LoggerScope(AppLogger logger) noexcept;
  ~LoggerScope();
  LoggerScope(const LoggerScope&) = delete;
  LoggerScope& operator=(const LoggerScope&) = delete;

 private:
  AppLogger before_;
};

// Hands a finder to a library's function setLoggerFinder. It lasts as long as the process, and gives the logger of the
// innermost scope on the thread that asks, otherwise the process's.
void give_logger_finder(void* set_logger_finder);

}  // namespace wootz::api
