// How much a step computes and moves: for reports, and for estimates where nothing better is known.
#pragma once

#include "backend/problem.h"

namespace wootz {

struct Work {
  double flops = -1;  // additions and multiplications, a multiply-add is two; -1: unknown (family op)
  double bytes_read = 0, bytes_written = 0;  // of the operands, each once; caches may do better, kernels worse
};

// At these extents, one per input and output of the problem (empty where omitted).
Work work_of(const Problem& problem, std::span<const Dims> inputs, std::span<const Dims> outputs);
// At the problem's own extents.
Work work_of(const Problem& problem);

}  // namespace wootz
