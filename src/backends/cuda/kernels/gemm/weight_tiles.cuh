// Few rows of 16-bit floats times weights of 4 bits, on tensor cores: rows as they are. The problem: that of
// gemm/weight_chunks.cuh.
#pragma once
#include "backends/cuda/kernels/gemm/weight_chunks.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  multiply(p, c, [&](int r0, int r) { return p.x + (s64)within(r0 + r, c.rows) * c.depth; });
}
