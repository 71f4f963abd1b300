#include "runtime/growing_buffer.h"

#include <cstdint>
#include <cstring>

namespace wootz {
namespace {

constexpr size_t kAlign = 64;

// A little more than asked for: the next run may find a little more. 0: not a size.
size_t with_slack(size_t bytes) { return bytes > SIZE_MAX / 2 ? 0 : bytes + bytes / 4 + kAlign; }

}  // namespace

void GrowingBuffer::release() {
  if (memory_ != nullptr) device_->free(memory_);
  memory_ = nullptr;
  bytes_ = 0;
}

Status GrowingBuffer::reserve(size_t bytes) {
  if (bytes <= bytes_) return Status();
  release();
  WOOTZ_ASSIGN_OR_RETURN(void* const memory, device_->allocate(bytes, kAlign));
  memory_ = static_cast<std::byte*>(memory);
  bytes_ = bytes;
  return Status();
}

std::byte* GrowingBuffer::room(size_t bytes, Stream* stream) {
  if (memory_ != nullptr && bytes <= bytes_) return memory_;
  const size_t more = with_slack(bytes);
  if (more == 0) return nullptr;
  if (memory_ != nullptr && stream != nullptr && !stream->synchronize().ok()) return nullptr;
  return reserve(more).ok() ? memory_ : nullptr;
}

std::byte* GrowingBuffer::extend(size_t bytes, size_t keep) {
  if (keep == 0 || memory_ == nullptr || bytes <= bytes_) return room(bytes);
  GrowingBuffer larger(*device_);
  if (larger.room(bytes) == nullptr) return nullptr;
  std::memcpy(larger.memory_, memory_, keep);
  std::swap(memory_, larger.memory_);
  std::swap(bytes_, larger.bytes_);
  return memory_;
}

}  // namespace wootz
