// Weights rounded to few bits, with the scales that bring them back.
#pragma once

#include <cmath>

#include "base/tensor.h"
#include "onnx/edit/format_rules.h"

namespace wootz::importer {

// The sum of squares of weights and of their errors.
struct Squares {
  double all = 0, lost = 0;
  void add(double value, double rounded) {
    all += value * value;
    lost += (value - rounded) * (value - rounded);
  }
  double error() const { return all == 0 ? 0 : std::sqrt(lost / all); }
};

struct NarrowWeights {
  HostTensor values, scales;
  HostTensor zero_points;   // not valid: there are none
  HostTensor tensor_scale;  // that the scales are multiples of; not valid: of 1
  double error = 0;         // root mean square of what rounding does, as a part of the weights'
  double least_scale = 0, largest_scale = 0;
};

// `weights` are finite and in f32. Along `axis` each place has a scale; -1: one for all.
Result<NarrowWeights> narrow_channels(const HostTensor& weights, DType type, int axis);
// Blocks of `block` elements along `axis` have a scale each; it divides the extent. i4 around 0, or u4 from the least
// to the largest.
Result<NarrowWeights> narrow_blocks(const HostTensor& weights, int axis, int64_t block, bool zero_points);
// Rounded to f16 or bf16; what is too large becomes the largest number.
Result<HostTensor> rounded_to(const HostTensor& values, DType type, double* error);

}  // namespace wootz::importer
