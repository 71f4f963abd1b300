// Compiled at level 11 of the API, alone in the library: it must name no interface whose class differs between the
// levels but to call it, so that nothing of such a class is emitted here; loggers are in a namespace of the level's own.
#ifdef WOOTZ_TENSORRT_API
#undef WOOTZ_TENSORRT_API
#endif
#define WOOTZ_TENSORRT_API 11
#include "api/runtime/level_11.h"

#include "NvInferRuntime.h"

namespace wootz::api::level_11 {

int32_t version() noexcept { return NV_TENSORRT_VERSION; }

void log(void* logger, int32_t severity, const char* text) noexcept {
  static_cast<nvinfer1::ILogger*>(logger)->log(static_cast<nvinfer1::ILogger::Severity>(severity), text);
}

void report_time(void* profiler, const char* step, float ms) noexcept {
  static_cast<nvinfer1::IProfiler*>(profiler)->reportLayerTime(step, ms);
}

namespace {

class Forwarding11 final : public nvinfer1::ILogger {
 public:
  explicit Forwarding11(void (*log)(int32_t, const char*) noexcept) : log_(log) {}
  void log(Severity severity, const nvinfer1::AsciiChar* text) noexcept override {
    log_(static_cast<int32_t>(severity), text);
  }

 private:
  void (*log_)(int32_t severity, const char* text) noexcept;
};

}  // namespace

void* make_logger(void (*log)(int32_t severity, const char* text) noexcept) {
  return static_cast<nvinfer1::ILogger*>(new Forwarding11(log));
}

}  // namespace wootz::api::level_11
