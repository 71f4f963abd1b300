// Errors of the command line, and the logger that collects the library's.
#pragma once

#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "NvInfer.h"
#include "files.h"

namespace wootz_cli {

// Wrong usage: exit status 2.
struct Usage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What was compared differs, and the status is to say so: exit status 3, no text.
struct Differ {};

// Prints what is severe enough, and keeps errors for the final message.
class Logger final : public nvinfer1::ILogger {
 public:
  void log(Severity severity, const char* message) noexcept override;
  Severity least = Severity::kWARNING;
  std::vector<std::string> errors;

 private:
  std::mutex mutex_;  // inferences may fail on several threads
};
// Throws a Failure: what failed, then the errors that the library logged.
[[noreturn]] void fail(const std::string& what, const Logger& logger);
// The text in what wootz_build_report_as() and its like return, which it frees; fails on null.
std::string take_text(void* memory, const char* what, const Logger& logger);

}  // namespace wootz_cli
