// A device whose memory the caller provides: the application, say.
#pragma once

#include <memory>

#include "backend/device.h"

namespace wootz {

class Allocator {
 public:
  virtual ~Allocator() = default;
  virtual void* allocate(size_t bytes, size_t alignment) = 0;  // null: refused
  virtual void free(void* memory) = 0;
};

// The device with every byte of its memory from `allocator`; the device itself where that (or the device) is null.
std::shared_ptr<Device> with_allocator(std::shared_ptr<Device> device, std::shared_ptr<Allocator> allocator);

}  // namespace wootz
