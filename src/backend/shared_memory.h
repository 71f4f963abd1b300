// The memory on a device's processor that a call's kernels share within a block: for devices that have such memory.
#pragma once

#include <cstddef>
#include <optional>

namespace wootz {

// What a Call of such a device is besides.
class SharedMemoryUser {
 public:
  virtual ~SharedMemoryUser() = default;
  // The most that a block of one of its kernels takes, in bytes; empty: a library decides, and does not tell.
  virtual std::optional<size_t> shared_memory() const = 0;
};

}  // namespace wootz
