// Where the library reports what it does. Layers below the API write here; the API hands in the application's logger.
#pragma once

#include <string>

namespace wootz {

enum class LogLevel { kWarning, kInfo, kVerbose };

class Log {
 public:
  virtual ~Log() = default;
  // One line, without an end of line. May be called from any thread.
  virtual void write(LogLevel level, const std::string& line) const = 0;
  // False: lines of this level are dropped, and need not be made.
  virtual bool wants(LogLevel level) const {
    (void)level;
    return true;
  }

  void warning(const std::string& line) const { write(LogLevel::kWarning, line); }
  void info(const std::string& line) const { write(LogLevel::kInfo, line); }
  void verbose(const std::string& line) const { write(LogLevel::kVerbose, line); }
};

// Drops every line.
const Log& silent_log();

}  // namespace wootz
