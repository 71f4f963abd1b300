// Memory of a device that grows to what was needed and stays.
#pragma once

#include <cstddef>
#include <utility>

#include "backend/device.h"

namespace wootz {

class GrowingBuffer {
 public:
  explicit GrowingBuffer(Device& device) : device_(&device) {}
  ~GrowingBuffer() { release(); }
  GrowingBuffer(GrowingBuffer&& other) noexcept
      : device_(other.device_),
        memory_(std::exchange(other.memory_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  GrowingBuffer(const GrowingBuffer&) = delete;
  GrowingBuffer& operator=(const GrowingBuffer&) = delete;

  // At least so many bytes; null: refused. What was there is lost. Work put on `stream` before may still use memory
  // that is given back: it is waited for.
  std::byte* room(size_t bytes, Stream* stream = nullptr);
  // The same in host memory, where the first `keep` bytes stay what they are.
  std::byte* extend(size_t bytes, size_t keep);
  // Gives back what it has, and takes memory from another device, or from the same one by another allocator.
  void use(Device& device) {
    release();
    device_ = &device;
  }
  // Exactly so many bytes when it must grow. Error: refused.
  Status reserve(size_t bytes);
  std::byte* data() const { return memory_; }
  size_t bytes() const { return bytes_; }

 private:
  void release();

  Device* device_;
  std::byte* memory_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace wootz
