// Where an object of the API tells what happened: logger and error recorder. And the guards: no exception leaves a
// public method, and every failure is reported before the method returns its false, null or -1.
#pragma once

#include <exception>
#include <new>
#include <string_view>

#include "api/runtime/level.h"
#include "api/runtime/public.h"
#include "base/log.h"
#include "base/status.h"

namespace wootz::api {

class Reporter final : public Log {
 public:
  using Severity = nvinfer1::ILogger::Severity;

  explicit Reporter(AppLogger logger, nvinfer1::IErrorRecorder* recorder = nullptr) noexcept;
  Reporter(const Reporter& o) noexcept : Reporter(o.logger_, o.recorder_) {}
  Reporter& operator=(const Reporter&) = delete;
  ~Reporter() override;

  nvinfer1::ILogger* logger() const noexcept { return logger_.object; }
  // Of the program that the object belongs to.
  ApiLevel level() const noexcept { return logger_.level; }
  nvinfer1::IErrorRecorder* recorder() const noexcept { return recorder_; }
  void set_recorder(nvinfer1::IErrorRecorder* recorder) noexcept;  // counts references

  // `call` names the public method.
  void error(const char* call, const Status& status) const noexcept;
  void log(Severity severity, std::string_view text) const noexcept;
  void write(LogLevel level, const std::string& line) const noexcept override;
  void warning(std::string_view text) const noexcept { log(Severity::kWARNING, text); }
  void verbose(std::string_view text) const noexcept { log(Severity::kVERBOSE, text); }

 private:
  AppLogger logger_;
  nvinfer1::IErrorRecorder* recorder_ = nullptr;
};

// The failure that the exception in flight stands for. Only inside a catch block.
Status current_exception_status() noexcept;

// Runs f, which returns Status. True when it succeeded; otherwise the reason was reported.
template <typename F>
bool attempt(const Reporter& reporter, const char* call, F&& f) noexcept {
  try {
    const Status status = f();
    if (status.ok()) return true;
    reporter.error(call, status);
  } catch (...) {
    reporter.error(call, current_exception_status());
  }
  return false;
}

// Runs f, which returns Result<T>; gives its value, or the fallback after reporting.
template <typename T, typename F>
T attempt_or(const Reporter& reporter, const char* call, T fallback, F&& f) noexcept {
  try {
    auto result = f();
    if (result.ok()) return std::move(result).value();
    reporter.error(call, result.status());
  } catch (...) {
    reporter.error(call, current_exception_status());
  }
  return fallback;
}

// The logger of the process, for what belongs to no object: that of the last factory.
void note_logger(AppLogger logger) noexcept;
AppLogger process_logger() noexcept;

}  // namespace wootz::api
