// What follows the sums of quads_tile.h, and of depthwise convolutions of 8 bits.
#pragma once

#include <cstdint>

#include "backends/cpu/dense/sums_end.h"

namespace wootz::cpu {

// What follows the sums of one panel.
struct QuadsEnd {
  const int32_t* sums = nullptr;      // row i at sums + i * stride
  const float* float_sums = nullptr;  // or these, for finish_rows<float>
  int64_t stride = 0, columns = 0;
  const float *scale = nullptr, *bias = nullptr;  // of a whole panel
  const float* row_scales = nullptr;              // of each row beside that; null: 1
  const SumsEnd* ends = nullptr;
  int num_ends = 0;
  const void* const* inputs = nullptr;  // of the step
  int64_t first = 0;                    // where the first result lies in an operand of the results' shape
  SumsEnd::Type type = SumsEnd::Type::kF32;
  int32_t zero = 0;
  bool guarded = false;    // values to be stored as integers may be NaN, or beyond what an int32 holds
  char* out = nullptr;     // of the first result
  int64_t out_stride = 0;  // from one row to the next, in elements

  // To the results so many columns further; `sums`, of either type, are the caller's to move.
  void advance(int64_t by) {
    scale += by;
    bias += by;
    first += by;
    out += by * bytes_of(type);
  }
};

}  // namespace wootz::cpu
