// The inner loop of our products and convolutions of 8 bits for processors that have no instruction for them: both
// sides in 16 bits, two neighbouring products added at once. The sums are exact.
#pragma once

#include "backends/cpu/dense/tile.h"

namespace wootz::cpu {

struct Int8Tile {
  const int16_t* values = nullptr;  // row i at values + i * value_stride, an even number of them
  int64_t value_stride = 0, pairs = 0;
  const int16_t* weights = nullptr;  // [pair][column of the panel][2]
  int32_t* sums = nullptr;           // row i at sums + i * stride, a whole panel
  int64_t stride = 0;
  bool accumulate = false;  // to what is in `sums`
};

struct Int8Ops : DenseGrain {
  // to[i] = from[i] - zero; from: u8, or i8 if `is_signed`.
  void (*widen)(const uint8_t* from, bool is_signed, int32_t zero, int64_t n, int16_t* to);
  void (*tile)(const Int8Tile& tile, int64_t rows);
  // The first n of `sums` become the floats sums[i] * scale[i] + bias[i]; all but `bias`, which may be null, reach to
  // the end of the last vector.
  void (*scale)(int32_t* sums, int64_t n, const float* scale, const float* bias);
};
const Int8Ops& int8_ops(Isa isa);

}  // namespace wootz::cpu
