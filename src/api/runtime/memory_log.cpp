#include "api/runtime/memory_log.h"

#include <fmt/core.h>

namespace wootz::api {
namespace {

size_t mib(size_t bytes) { return bytes >> 20; }

}  // namespace

std::atomic<size_t>& HeldMemory::totals(bool on_device) {
  static std::atomic<size_t> all[2];
  return all[on_device ? 1 : 0];
}

void HeldMemory::hold(const Reporter& reporter, const char* what, bool on_device, size_t bytes) {
  total().fetch_sub(bytes_);
  on_device_ = on_device;
  bytes_ = bytes;
  total().fetch_add(bytes_);
  reporter.log(Reporter::Severity::kINFO,
               fmt::format("[MemUsageChange] TensorRT-managed allocation in {}: CPU +{}, GPU +{}, now: CPU {}, GPU {} "
                           "(MiB)",
                           what, on_device ? 0 : mib(bytes), on_device ? mib(bytes) : 0, mib(totals(false).load()),
                           mib(totals(true).load())));
}

}  // namespace wootz::api
