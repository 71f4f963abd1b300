// The inner loop of our own products and convolutions: a few rows times one panel of packed weights, sums in registers.
#pragma once

#include <cstdint>

#include "base/cpu_info.h"

namespace wootz::cpu {

struct DenseTile {
  // Element e of row i and tap t is taps[t * tap_stride + i][e]. A product has one tap; a convolution one for each
  // position of its filter.
  const float* const* taps;
  int64_t tap_stride = 0, num_taps = 1;
  int64_t first = 0, length = 0;   // the elements of every tap that are summed
  const float* weights = nullptr;  // of the first tap's first element: [tap][element][panel]
  int64_t columns = 0;             // at most a panel
  float* out = nullptr;            // row i begins at out + i * stride
  int64_t stride = 0;
  bool accumulate = false;       // the sums so far are in `out`; otherwise they begin with
  const float* bias = nullptr;   // one value a column, or null: zero
  bool finish = false;           // the last part of the sums; then come
  const float* added = nullptr;  // a value for each result, where it lies in `out` (may be null)
  bool bounded = false;          // and low <= result <= high; NaN stays NaN
  float low = 0, high = 0;
};

// What a tile computes at once.
struct DenseGrain {
  int64_t panel;               // columns of packed weights side by side
  int64_t rows;                // blocks are multiples of it where possible
  int64_t unit_rows = 96;      // at most: their part of the input stays in the second-level cache
  int64_t part = 256;          // elements of a column summed at once, for whose weights the first-level cache is
  int64_t step = 1;            // what a part's length is a multiple of, but the last
  int64_t unit_columns = 256;  // at most
};

struct DenseOps : DenseGrain {
  void (*tile)(const DenseTile& tile, int64_t rows);
};
const DenseOps& dense_ops(Isa isa);

}  // namespace wootz::cpu
