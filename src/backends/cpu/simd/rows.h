// What reductions, softmax and normalizations do with contiguous f32, for one instruction set. Sums run in several
// lanes, always in the same order.
#pragma once

#include <cstdint>

#include "base/cpu_info.h"

namespace wootz::cpu {

enum class RowOp : uint8_t { kSum, kMax, kMin, kProd, kSumAbs, kSumSquares, kSumExp };

// Whose reciprocals, and what is left of values that are divided by them, are far from what floats cannot hold.
inline constexpr float kLeastPlainScale = 0x1p-90F, kMostPlainScale = 0x1p90F;

struct RowOps {
  // Of one row. `shift` is subtracted first by kSumExp (and, squared, by sum_centered). NaN gives NaN.
  float (*reduce)(RowOp op, const float* x, int64_t n, float shift);
  float (*max)(const float* x, int64_t n);                       // NaN may get lost
  float (*sum_centered)(const float* x, int64_t n, float mean);  // of (x - mean)^2
  // Elementwise into columns: acc[i] = op(acc[i], x[i]); kSumExp: acc[i] += exp(x[i] - shift[i]).
  void (*accumulate)(RowOp op, float* acc, const float* x, const float* shift, int64_t n);
  // dst = exp(x - shift); returns the sum.
  float (*exp_row)(float* dst, const float* x, int64_t n, float shift);
  // dst = exp(x - shift[i]), sum[i] += dst; dst may be null.
  void (*exp_columns)(float* dst, float* sum, const float* x, const float* shift, int64_t n);
  void (*scale)(float* dst, const float* x, int64_t n, float factor);
  void (*add)(float* dst, const float* x, int64_t n, float term);
  void (*scale_columns)(float* dst, const float* x, const float* factor, int64_t n);
  void (*sub_columns)(float* dst, const float* x, const float* term, int64_t n);
  // dst = (x - mean) * factor, then * scale[i], then + bias[i]; scale and bias may be null.
  void (*normalize)(float* dst, const float* x, int64_t n, float mean, float factor, const float* scale,
                    const float* bias);
  // dst = (x - mean) * factor + bias
  void (*affine)(float* dst, const float* x, int64_t n, float mean, float factor, float bias);
  float (*max_abs)(const float* x, int64_t n);  // 0 of none; NaN gives NaN
  // dst = x / scale, rounded half to even, within i8; a scale from kLeastPlainScale to kMostPlainScale, and every |x|
  // within 2^20 of it.
  void (*quantize)(int8_t* dst, const float* x, int64_t n, float scale);
  // The same plus a whole number, within u8.
  void (*quantize_from)(uint8_t* dst, const float* x, int64_t n, float scale, float zero);
};
const RowOps& row_ops(Isa isa);

}  // namespace wootz::cpu
