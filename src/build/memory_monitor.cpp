#include "build/memory_monitor.h"

#include <unistd.h>

#include <fstream>

namespace wootz {
namespace {

// Of this process, resident.
int64_t host_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t total = 0, resident = 0;
  file >> total >> resident;
  return file ? resident * ::sysconf(_SC_PAGESIZE) : 0;
}

double mib(int64_t bytes) { return static_cast<double>(bytes) / 1048576; }

}  // namespace

MemoryMonitor::Use MemoryMonitor::now() const {
  Use use;
  use.host = host_bytes();
  const auto& device = context_.target.device;
  if (device == nullptr || device->host_memory()) return use;
  if (const Result<size_t> free = device->free_memory(); free.ok())
    use.device = static_cast<int64_t>(device->describe().memory) - static_cast<int64_t>(*free);
  return use;
}

void MemoryMonitor::after(const char* stage) {
  if (!context_.settings.tell_memory) return;
  const Use use = now();
  if (!begun_) before_ = use;
  begun_ = true;
  std::string device;
  if (use.device >= 0)
    device = fmt::format(", GPU {:+.1f}, now {:.1f}", mib(use.device - std::max<int64_t>(0, before_.device)),
                         mib(use.device));
  context_.log.info(fmt::format("[MemUsageChange] {}: CPU {:+.1f}, now {:.1f}{} (MiB)", stage,
                                mib(use.host - before_.host), mib(use.host), device));
  before_ = use;
}

}  // namespace wootz
