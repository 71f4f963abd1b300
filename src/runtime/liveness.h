// Which tensors share memory at given extents, and for how long each piece of it is needed.
#pragma once

#include <vector>

#include "plan/memory_planner.h"
#include "plan/storage.h"
#include "runtime/stream_order.h"

namespace wootz {

struct Liveness {
  Storage storage;                                    // after results have taken over the memory of operands
  IndexedVector<TensorIndex, StepIndex> first, last;  // of a root: the step that first writes it, the last that uses it
};

// Each once. Parts and views count as all of what they are in.
StepNeeds step_needs(const Program& program, const Storage& storage);

// `dynamic`: steps whose extents are data-dependent; they take over nothing. `kernels` say which result may be written
// over which operand; empty: none may. Where steps run concurrently, memory lives until the last step that may run
// concurrently with one that uses it, and a result takes over an operand only when all who read that have ended.
Liveness find_liveness(const Program& program, Storage storage, const StepKernels& kernels,
                       const IndexedVector<StepIndex, uint8_t>& dynamic, const StreamOrder& order);

// The pieces of memory that steps of known extents write and that are not the user's: what plan_memory() places.
struct ArenaBuffer {
  TensorIndex tensor;  // the root
  BufferLife life;
};
std::vector<ArenaBuffer> arena_buffers(const Program& program, const Liveness& liveness,
                                       const IndexedVector<TensorIndex, uint8_t>& known);

}  // namespace wootz
