#include "backends/cpu/backend.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "backends/cpu/chain/provider.h"
#include "backends/cpu/host_stream.h"
#include "backends/cpu/native_provider.h"
#include "backends/cpu/onednn/env.h"
#include "backends/cpu/onednn/provider.h"
#include "backends/cpu/onednn/threads.h"
#include "base/cpu_info.h"
#include "base/thread_pool.h"

namespace wootz {
namespace cpu {
namespace {

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(DeviceDescription description) : description_(std::move(description)) {}
  const DeviceDescription& describe() const override { return description_; }

  Result<void*> allocate(size_t bytes, size_t alignment) override {
    if ((alignment & (alignment - 1)) != 0)
      return invalid_argument("cpu: alignment {} is not a power of two", alignment);
    if (alignment < 64) alignment = 64;
    if (bytes > SIZE_MAX - 2 * alignment) return make_error(Code::kResourceExhausted, "cpu: {} bytes", bytes);
    void* memory = std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
    if (memory == nullptr) return make_error(Code::kResourceExhausted, "cpu: no memory for {} bytes", bytes);
    return memory;
  }
  void free(void* memory) override { std::free(memory); }
  Result<size_t> free_memory() const override {
    std::ifstream info("/proc/meminfo");
    for (std::string name; info >> name;) {
      size_t kib = 0;
      if (name == "MemAvailable:" && info >> kib) return kib << 10;
    }
    return unsupported("/proc/meminfo does not tell what memory is free");
  }

  Status copy(void* to, const void* from, size_t bytes, Stream* stream) override {
    const auto work = [=]() -> Status {
      if (bytes > 0) std::memmove(to, from, bytes);
      return {};
    };
    return stream == nullptr ? work() : stream->enqueue(work);
  }
  Result<std::unique_ptr<Stream>> create_stream() override { return make_host_stream(); }
  size_t cache_bytes() const override { return cpu_info().l2 * static_cast<size_t>(cpu_info().cpus); }

 private:
  DeviceDescription description_;
};

class CpuBackend final : public Backend {
 public:
  CpuBackend() : Backend("cpu", {.chains = true, .unsigned_bytes = true}) {}

  Result<std::shared_ptr<Device>> open(int number) const override {
    const CpuInfo& info = cpu_info();
    DeviceDescription d{"cpu", info.name, isa_description(), ThreadPool::process().size(), info.memory};
    WOOTZ_RETURN_IF_ERROR(check_device_number(name, {d}, number));
    dnn::connect_threads();
    return std::shared_ptr<Device>(std::make_shared<CpuDevice>(std::move(d)));
  }
  std::vector<const Provider*> providers() const override {
    return {&native_provider(), &onednn_provider(), &chain_provider()};
  }
  bool computes_fast_in(DType type) const override { return dnn::computes_fast_in(type); }
  bool prefers_unsigned_bytes() const override { return dnn::prefers_unsigned_bytes(); }
  bool calibrates_groups() const override { return dnn::exact_int8(); }
};

}  // namespace

}  // namespace cpu

const Backend& cpu_backend() {
  static const cpu::CpuBackend backend;
  return backend;
}

}  // namespace wootz
