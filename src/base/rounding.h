// Rounding weights to fewer bits. Each weight becomes one of its two neighbours among the narrow numbers, mostly the
// nearer one. The few that lie closest to the middle go the other way where that makes the errors of a row cancel: a
// row is what one result sums up. Operands after a ReLU or a pooling are positive, and the result's error is about
// their mean times the row's sum of errors; nothing of that is left then.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/dims.h"

namespace wootz {

// The numbers that weights are rounded to, as a part of FP32's.
struct NumberGrid {
  int dropped_bits;       // of FP32's mantissa
  uint32_t least_normal;  // FP32's bits of the smallest number with a full mantissa; below it, numbers are `least_step`
  uint32_t largest;       // apart. FP32's bits of the largest number
  float least_step;
};
inline constexpr NumberGrid kTf32Grid{13, 0, 0x7f7fe000u, 0};  // what tensor cores read of FP32 operands
inline constexpr NumberGrid kBf16Grid{16, 0, 0x7f7f0000u, 0};
inline constexpr NumberGrid kF16Grid{13, 0x38800000u, 0x477fe000u, 0x1p-24f};

// Where the rows of a tensor of weights lie: one row for each place along `rows`, its elements along `terms`.
struct WeightRows {
  struct Axis {
    int64_t extent, stride;
    bool operator==(const Axis&) const = default;
  };
  std::vector<Axis> rows, terms;
  bool operator==(const WeightRows&) const = default;
};
// Of a convolution, [M, C/groups, window...]: all taps of a filter.
WeightRows conv_rows(const Dims& weights);
// Of a transposed one, [C, M/groups, window...]: the taps that meet in one pixel of the result where the strides divide
// the window, else all of a filter.
WeightRows transposed_conv_rows(const Dims& weights, int64_t groups, std::span<const int64_t> strides,
                                std::span<const int64_t> dilations);
// Of a product, [batch..., depth, n], or [batch..., n, depth] with `depth_last`. A vector is one row.
WeightRows matrix_rows(const Dims& weights, bool depth_last);
// Every element alone: to the nearest.
WeightRows single_elements(const Dims& weights);

// Rounds in place; the elements stay FP32. Infinities, NaN and what would round beyond the largest number stay as they
// are. A row's squared error is at most kSquaredErrorGrowth times that of rounding to the nearest, and the magnitude of
// its sum of errors not larger. The result depends on each row's elements in their order alone.
inline constexpr double kSquaredErrorGrowth = 1.25;
void round_rows(std::span<float> weights, const WeightRows& rows, const NumberGrid& grid);

}  // namespace wootz
