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
  // What a step's results have been given before it runs: those of known extents.
  struct Given {
    std::vector<Dims> dims;
    std::vector<void*> memory;
    std::vector<uint8_t> sized;
    void clear() {
      dims.clear();
      memory.clear();
      sized.clear();
    }
  };
  Late(Device& on, const Program& program) : device(on), buffers(program.tensors.size()), bound(program.steps.size()) {
    std::vector<std::vector<int32_t>> of(program.tensors.size());
    for (size_t k = 0; k < program.symbols.size(); ++k)
      if (program.symbols[k].source == SymbolSource::kDataDependent)
        of[static_cast<size_t>(program.symbols[k].tensor)].push_back(static_cast<int32_t>(k));
    told.resize(program.steps.size());
    for (size_t s = 0; s < told.size(); ++s)
      for (const int32_t t : program.steps[s].outputs)
        if (t >= 0) told[s].insert(told[s].end(), of[static_cast<size_t>(t)].begin(), of[static_cast<size_t>(t)].end());
  }
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
  // Beginning of a run.
  void start(const ShapePlan& plan) {
    symbols = plan.symbols;
    shapes = plan.shapes;
    open = plan.open_exprs;
  }
  // Works out what the symbols say now.
  Status learn(const Program& program);

  std::vector<int64_t> symbols;
  ShapeValues shapes;
  std::vector<int32_t> open;               // expressions that are not known yet
  std::vector<std::vector<int32_t>> told;  // by step: the symbols that it tells
  std::vector<Buffer> buffers;             // by tensor
  Buffer scratch;
  std::vector<std::list<Bound>> bound;  // by step: what it was bound to, most recent first
  // Of the step at hand.
  std::vector<Dims> in;
  Given given;
  std::vector<const void*> constants, inputs;
  std::vector<size_t> constant_bytes;
};

}  // namespace wootz
