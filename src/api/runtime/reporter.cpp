#include "api/runtime/reporter.h"

#include <mutex>
#include <stdexcept>

#include "api/runtime/convert.h"

namespace wootz::api {
namespace {

std::mutex last_logger_mutex;
AppLogger last_logger;
// Made while there is memory.
const Status kOutOfMemory(Code::kResourceExhausted, "out of memory");

}  // namespace

Reporter::Reporter(AppLogger logger, nvinfer1::IErrorRecorder* recorder) noexcept : logger_(logger) {
  set_recorder(recorder);
}

Reporter::~Reporter() { set_recorder(nullptr); }

void Reporter::set_recorder(nvinfer1::IErrorRecorder* recorder) noexcept {
  if (recorder == recorder_) return;
  if (recorder != nullptr) recorder->incRefCount();
  if (recorder_ != nullptr) recorder_->decRefCount();
  recorder_ = recorder;
}

void Reporter::log(Severity severity, std::string_view text) const noexcept {
  if (logger_.object == nullptr) return;
  try {
    logger_.log(severity, std::string(text).c_str());
  } catch (...) {
    logger_.log(severity, "out of memory while writing a message");
  }
}

void Reporter::write(LogLevel level, const std::string& line) const noexcept {
  switch (level) {
    case LogLevel::kWarning: return log(Severity::kWARNING, line);
    case LogLevel::kInfo: return log(Severity::kINFO, line);
    case LogLevel::kVerbose: return log(Severity::kVERBOSE, line);
  }
}

void Reporter::error(const char* call, const Status& status) const noexcept {
  using nvinfer1::ErrorCode;
  const ErrorCode code = to_api(status.code());
  try {
    const std::string text = fmt::format("{}: {} (error code {}: {})", call, status.message(), static_cast<int>(code),
                                         code_name(status.code()));
    const bool ours = code == ErrorCode::kINTERNAL_ERROR;
    logger_.log(ours ? Severity::kINTERNAL_ERROR : Severity::kERROR, text.c_str());
    if (recorder_ == nullptr) return;
    constexpr size_t kMost = nvinfer1::IErrorRecorder::kMAX_DESC_LENGTH;
    recorder_->reportError(code, (std::string(call) + ": " + status.message()).substr(0, kMost).c_str());
  } catch (...) {
    logger_.log(Severity::kERROR, "out of memory");
    if (recorder_ != nullptr) recorder_->reportError(ErrorCode::kFAILED_ALLOCATION, "out of memory");
  }
}

Status current_exception_status() noexcept {
  try {
    try {
      throw;
    } catch (const std::bad_alloc&) {
      return Status(Code::kResourceExhausted, "out of memory");
    } catch (const std::length_error& e) {
      return Status(Code::kResourceExhausted, std::string("a size beyond all memory: ") + e.what());
    } catch (const std::exception& e) {
      return Status(Code::kInternal, std::string("unexpected exception: ") + e.what());
    } catch (...) {
      return Status(Code::kInternal, "unexpected exception of an unknown type");
    }
  } catch (...) {  // no memory for the message
    return kOutOfMemory;
  }
}

void note_logger(AppLogger logger) noexcept {
  const std::lock_guard<std::mutex> lock(last_logger_mutex);
  last_logger = logger;
}

AppLogger process_logger() noexcept {
  const std::lock_guard<std::mutex> lock(last_logger_mutex);
  return last_logger;
}

}  // namespace wootz::api

extern "C" TENSORRTAPI nvinfer1::ILogger* getLogger() noexcept { return wootz::api::process_logger().object; }
