// Memory that was asked for here, by address, and the operations that copy and fill.
#pragma once

#include <memory>

#include "operation.h"

namespace wootz::hostcuda {

struct Pool {
  size_t used = 0, used_high = 0;
  unsigned long long threshold = 0;
  int reuse[3] = {1, 1, 1};
};

// A block. Who allocated it frees it with its last reference.
struct Block {
  Block(void* at, size_t size, cudaMemoryType of_type, unsigned with_flags, bool is_owned)
      : address(at), bytes(size), type(of_type), flags(with_flags), owned(is_owned) {}
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  void* const address;
  const size_t bytes;
  const cudaMemoryType type;
  const unsigned flags;
  const bool owned;       // otherwise the application's own, registered
  bool of_graph = false;  // lives as long as the graphs that allocate it, and leaves the register by itself
  std::shared_ptr<Pool> pool;
};

// Takes memory and registers it. A size of 0 gives null.
cudaError_t allocate(void** address, size_t bytes, cudaMemoryType type, unsigned flags,
                     std::shared_ptr<Block>* block = nullptr);
// The block that an address is in; null: none.
std::shared_ptr<Block> block_at(const void* address);
// Takes the block that begins there out of the register; null: there is none that `accepted` says yes to.
std::shared_ptr<Block> take_block(const void* address, bool (*accepted)(const Block&));
// Puts memory of the application's into the register. False: part of it is there.
bool add_block(const std::shared_ptr<Block>& block);
// From now on the register does not keep it.
void leave_to_graph(const std::shared_ptr<Block>& block);

// Whether addresses, sizes and direction go together.
cudaError_t check_copy(const Copy& copy);
cudaError_t check_fill(const Fill& fill);
cudaError_t read_copy(const cudaMemcpy3DParms* parameters, Copy* copy);
cudaError_t read_fill(const cudaMemsetParams* parameters, Fill* fill);

size_t machine_memory();
size_t available_memory();

}  // namespace wootz::hostcuda
