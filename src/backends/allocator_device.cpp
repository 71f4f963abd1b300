#include "backends/allocator_device.h"

#include "backend/concurrent.h"
#include "backends/addresses.h"

namespace wootz {
namespace {

class AllocatorDevice final : public Device, public LockedDevice {
 public:
  AllocatorDevice(std::shared_ptr<Device> device, std::shared_ptr<Allocator> allocator)
      : device_(std::move(device)), allocator_(std::move(allocator)) {}
  const DeviceDescription& describe() const override { return device_->describe(); }
  int number() const override { return device_->number(); }
  bool enter() const override { return device_->enter(); }
  void leave() const override { device_->leave(); }
  Result<void*> allocate(size_t bytes, size_t alignment) override {
    const DeviceScope current(*device_);  // where an application's allocator takes memory from
    void* memory = allocator_->allocate(bytes == 0 ? 1 : bytes, alignment);
    if (memory == nullptr)
      return make_error(Code::kResourceExhausted, "the application's allocator refused {} bytes", bytes);
    if (alignment != 0 && reinterpret_cast<uintptr_t>(memory) % alignment != 0) {
      allocator_->free(memory);
      return invalid_argument("the application's allocator gave {}, which is not aligned to {}", memory, alignment);
    }
    if (const Status usable = wootz::check_address(*device_, memory); !usable.ok()) {
      allocator_->free(memory);
      return usable.with_prefix("what the application's allocator gave");
    }
    // Memory may be there only for what follows in the stream that it was asked for on, and inferences run on any.
    if (!device_->host_memory()) {
      WOOTZ_ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, device_->adopt_stream(nullptr));
      WOOTZ_RETURN_IF_ERROR(stream->synchronize());
    }
    return memory;
  }
  Result<size_t> free_memory() const override { return device_->free_memory(); }
  const RangeHooks* ranges() const override { return device_->ranges(); }
  void free(void* memory) override {
    const DeviceScope current(*device_);
    allocator_->free(memory);
  }
  Status copy(void* to, const void* from, size_t bytes, Stream* stream) override {
    return device_->copy(to, from, bytes, stream);
  }
  Result<std::unique_ptr<Stream>> create_stream() override { return device_->create_stream(); }
  Result<std::unique_ptr<Event>> create_event(bool tells_time, bool sleeps) override {
    return device_->create_event(tells_time, sleeps);
  }
  std::string lock_name() const override {
    const auto* const locked = dynamic_cast<const LockedDevice*>(device_.get());
    return locked == nullptr ? "" : locked->lock_name();
  }
  size_t cache_bytes() const override { return device_->cache_bytes(); }
  size_t persisting_cache() const override { return device_->persisting_cache(); }
  Result<void*> allocate_host(size_t bytes) override { return device_->allocate_host(bytes); }
  void free_host(void* memory) override { device_->free_host(memory); }
  Status check_address(const void* address) const override { return device_->check_address(address); }
  size_t alignment() const override { return device_->alignment(); }
  bool host_memory() const override { return device_->host_memory(); }
  Result<std::unique_ptr<Stream>> adopt_stream(void* native) override { return device_->adopt_stream(native); }
  Result<std::unique_ptr<Recording>> record(Stream& stream, FunctionRef<Status(Stream&)> work,
                                            std::unique_ptr<Recording> previous) override {
    return device_->record(stream, work, std::move(previous));
  }

 private:
  std::shared_ptr<Device> device_;
  std::shared_ptr<Allocator> allocator_;
};

}  // namespace

std::shared_ptr<Device> with_allocator(std::shared_ptr<Device> device, std::shared_ptr<Allocator> allocator) {
  if (device == nullptr || allocator == nullptr) return device;
  return std::make_shared<AllocatorDevice>(std::move(device), std::move(allocator));
}

}  // namespace wootz
