#include "logger.h"

#include <cstdio>
#include <memory>

namespace wootz_cli {

void Logger::log(Severity severity, const char* message) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (severity <= Severity::kERROR) errors.emplace_back(message);
  if (severity > least || severity <= Severity::kERROR) return;  // errors are printed once, at the end
  static const char* const kTags[] = {"F", "E", "W", "I", "V"};
  std::fprintf(stderr, "[%s] %s\n", kTags[static_cast<int>(severity)], message);
}

void fail(const std::string& what, const Logger& logger) {
  std::string text = what;
  for (const std::string& e : logger.errors) text += "\n  " + e;
  throw Failure(text);
}

std::string take_text(void* memory, const char* what, const Logger& logger) {
  const std::unique_ptr<nvinfer1::IHostMemory> text(static_cast<nvinfer1::IHostMemory*>(memory));
  if (text == nullptr || text->size() == 0) fail(std::string(what) + " could not be made", logger);
  return {static_cast<const char*>(text->data()), text->size() - 1};
}

}  // namespace wootz_cli
