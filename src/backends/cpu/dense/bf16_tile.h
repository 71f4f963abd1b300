// The inner loop of our products and convolutions of BF16: a few rows times one panel of packed weights, two neighbours
// along the sum at a time, sums of f32 in registers.
#pragma once

#include "backends/cpu/dense/bf16_end.h"
#include "backends/cpu/dense/tile.h"

namespace wootz::cpu {

inline constexpr int64_t kBf16Panel = 64;

struct Bf16Tile : Bf16End {
  // Element e of row i and tap t is taps[t * tap_stride + i][e].
  const uint16_t* const* taps = nullptr;
  int64_t tap_stride = 0, num_taps = 1;
  int64_t first = 0, length = 0;      // the elements of every tap that are summed; `first` is even
  const uint16_t* weights = nullptr;  // of the first tap's first pair: [tap][pair][wide][2], zeros where there are none
  int64_t wide = 0;                   // columns of the panel as packed, a multiple of 16
  float* sums = nullptr;              // row i begins at sums + i * stride; whole panels
  int64_t stride = 0;
  bool accumulate = false;      // the sums so far are in `sums`; otherwise they begin with
  const float* bias = nullptr;  // one value a column, or null: zero
  bool finish = false;          // the last part of the sums: they go through the end; otherwise where they were
};

struct Bf16Ops : DenseGrain {
  void (*tile)(const Bf16Tile& tile, int64_t rows);
  void (*widen)(const uint16_t* from, int64_t n, float* to);
};
// By AVX512-BF16 where the processor has it, otherwise widened to f32 in registers.
const Bf16Ops& bf16_ops(Isa isa);

extern const Bf16Ops kBf16DotOps;  // of AVX512-BF16

}  // namespace wootz::cpu
