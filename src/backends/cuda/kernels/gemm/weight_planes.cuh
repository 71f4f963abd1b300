// One or two rows of 16-bit floats, as they are, times weights of 4 bits by 8-bit integers on tensor cores: each warp
// makes planes of its chunks of them. The problem: that of gemm/row_planes.cuh.
#pragma once
#include "backends/cuda/kernels/gemm/row_planes.cuh"
#include "backends/cuda/kernels/gemm/weight_rows.cuh"

struct RowsInPlanes {
  typedef Planes Products;
  static constexpr int kBytes = 0;

  W_M void before(const Operands&, const Constants&, int) const {}
  W_M const u8* after(const Operands& p, const Constants& c, const Place& at, int r0) const {
    copy_rows(p, c, at, r0,
              [&](int r, int piece, const Pack<u32, 4>& x) { keep_planes(at, r, at.first * 8 + piece, x, r < kRows); });
    return own_plane(at);
  }
};

W_FN void kernel(const Operands& p, const Constants& c) { multiply(p, c, RowsInPlanes()); }
