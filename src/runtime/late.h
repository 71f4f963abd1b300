// What an executor keeps for steps whose extents only running tells.
#pragma once

#include <list>
#include <memory>
#include <vector>

#include "runtime/executor.h"

namespace wootz {

// What a program with data-dependent sizes needs beyond its ShapePlan: extents found while running, and buffers of the
// device that grow to what was needed and stay.
struct Executor::Late {
  struct Buffer {
    void* memory = nullptr;
    size_t bytes = 0;
  };
  struct Bound {
    std::vector<Dims> in, out;
    std::unique_ptr<Call> call;
  };
  explicit Late(Device& on) : device(on) {}
  ~Late() {
    for (Buffer& b : buffers) release(&b);
    release(&scratch);
  }
  Late(const Late&) = delete;
  Late& operator=(const Late&) = delete;

  void release(Buffer* buffer) {
    if (buffer->memory != nullptr) device.free(buffer->memory);
    *buffer = {};
  }
  // Room for so many bytes; null: refused. Work put on the stream before may still use what is given back.
  void* room(Buffer* buffer, size_t bytes, Stream* stream) {
    if (buffer->memory != nullptr && bytes <= buffer->bytes) return buffer->memory;
    if (buffer->memory != nullptr && stream != nullptr && !stream->synchronize().ok()) return nullptr;
    release(buffer);
    const size_t more = bytes + bytes / 4 + 64;  // the next run may find a little more
    Result<void*> memory = device.allocate(more, 64);
    if (!memory.ok()) return nullptr;
    *buffer = {*memory, more};
    return buffer->memory;
  }

  Device& device;
  std::vector<int64_t> symbols;
  ShapeValues shapes;
  std::vector<Buffer> buffers;  // by tensor
  Buffer scratch;
  std::vector<std::list<Bound>> bound;  // by step: what it was bound to, most recent first
};

}  // namespace wootz
