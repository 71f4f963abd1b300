// What a tile of BF16 does with its sums before it stores them.
#pragma once

#include "backends/cpu/dense/activation.h"

namespace wootz::cpu {

struct Bf16End {
  const void* added = nullptr;  // a value for each result, where it lies in `out` (may be null)
  bool added_is_bf16 = false;
  bool added_last = false;  // it is added after what follows
  bool bounded = false;     // low <= result <= high; NaN stays NaN
  float low = 0, high = 0;
  Activation activation = Activation::kNone;  // to the precision of BF16
  float alpha = 0, beta = 0;
  void* out = nullptr;     // row i begins out_stride elements later
  int64_t out_stride = 0;  // also of `added`
  int64_t columns = 0;     // of a row
  bool out_is_bf16 = false;
};

}  // namespace wootz::cpu
