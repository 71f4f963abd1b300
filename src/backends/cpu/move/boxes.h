// Family move as strided copies: pure arithmetic on extents.
#pragma once

#include <vector>

#include "backend/kernel.h"
#include "backends/cpu/move/strided_copy.h"

namespace wootz::cpu {

// One copy between an input (or the fill value) and an output.
struct Box {
  static constexpr int kFillValue = -1;
  int input = 0, output = 0;
  StridedCopy copy;
};

// Padding by reflection, repetition of the edge or wrapping: for each axis of the output, where it is read.
struct PadMap {
  std::vector<std::vector<int64_t>> offsets;  // elements, by axis in memory order and index
};

struct MovePlan {
  std::vector<Box> boxes;
  PadMap map;         // used when it has axes
  uint64_t fill = 0;  // one element's bits
  int bytes = 1;
};

// Errors: parameters or extents that do not fit together. Nothing in a valid plan reads or writes outside its tensors.
Result<MovePlan> plan_move(const Problem& problem, std::span<const Dims> inputs, std::span<const Dims> outputs);

}  // namespace wootz::cpu
