// Where in the arena each buffer lies: a pure function from sizes and lifetimes to offsets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/indices.h"

namespace wootz {

struct BufferLife {
  size_t bytes = 0;
  StepIndex first;  // that writes it
  StepIndex last;   // that reads it (inclusive)
};

// An arena of this size stands for one that no machine has: see plan_memory.
inline constexpr size_t kMostArenaBytes = size_t{1} << 62;

struct MemoryPlan {
  std::vector<size_t> offsets;  // by buffer; buffers of 0 bytes have offset 0
  size_t arena_bytes = 0;
  size_t lower_bound = 0;  // max over steps of the bytes alive: no plan can be smaller
};

// Deterministic. Offsets are multiples of `alignment` (a power of two). Buffers whose lifetimes overlap never overlap
// in memory. Buffers that together pass kMostArenaBytes get a plan of exactly that size, whose offsets mean nothing:
// allocating it fails.
MemoryPlan plan_memory(std::span<const BufferLife> buffers, size_t alignment = 64);

}  // namespace wootz
