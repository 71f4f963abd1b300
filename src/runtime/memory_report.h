// What a program needs of memory, as plain data: for the inspector, build reports and tests.
#pragma once

#include <string>
#include <vector>

#include "plan/memory_planner.h"

namespace wootz {

struct MemoryReport {
  size_t persistent = 0;   // weights as the kernels want them: once per engine
  size_t activations = 0;  // all tensors that steps make, except the network's outputs, each in memory of its own
  size_t lower_bound = 0;  // most bytes of them alive at one time, after results have taken over operands' memory
  size_t arena = 0;        // where they are: once per context
  size_t workspace = 0;    // of the step that needs most, after the arena
  bool estimated = false;  // before tactics were chosen: nothing is written in place, workspace is not known

  struct Buffer {
    std::string tensor;  // the first that lives there
    BufferLife life;
    size_t offset = 0;  // in the arena
  };
  std::vector<Buffer> buffers;             // everything in the arena, in order of the steps that write it
  IndexedVector<StepIndex, size_t> alive;  // bytes alive at each step

  size_t per_context() const { return arena + workspace; }
  // How much smaller the arena is than the activations: 0.62 for 62 %.
  double saved() const {
    return activations == 0 ? 0 : 1 - static_cast<double>(arena) / static_cast<double>(activations);
  }
};

}  // namespace wootz
