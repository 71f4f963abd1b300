// How far a result may be from the reference: the one place. From dtype and the length of the longest sum.
#pragma once

#include <string>
#include <vector>

#include "base/pointwise.h"
#include "base/tensor.h"

namespace wootz {

// Relative to the output's scale (largest finite magnitude of the reference): what within() takes. 0 for integers and
// bool. `reduction_length` is the length of the longest sum that makes one element, 1 when there is none.
double tolerance_for(DType dtype, int64_t reduction_length);
// How far two right sums of n terms that are at most `term` large may lie apart when the terms cancel, so that the
// result's own scale says nothing: each of the partial sums, about sqrt(n) terms large, is rounded.
double cancellation_noise(DType accumulator, double term, int64_t n);

struct Difference {
  double max_abs = 0;   // largest |a - b|, less the noise
  double scale = 0;     // largest |b|
  double relative = 0;  // max_abs / scale (max_abs when scale is 0)
  double cosine = 1;
  int64_t worst_index = -1;
  bool non_finite_mismatch = false;  // a NaN or infinity on one side only; never passes
  bool shape_mismatch = false;
};
// `expected` is the reference. Different shapes or dtypes give shape_mismatch. A NaN matches a NaN, an infinity the
// same one. `noise`: the absolute difference that counts as none, what cancellation leaves (cancellation_noise()).
Difference compare(const HostTensor& actual, const HostTensor& expected, double noise = 0);
// The scale of each element's own place: of its rows, columns, channels and so on the one with the smallest largest
// finite magnitude, where those have enough elements for that, and never less than 1/1024 of the whole tensor's.
std::vector<double> place_scales(const HostTensor& tensor);
// compare() with `relative` to those scales, so that a large row does not hide what is wrong in a small one. For tests.
Difference compare_by_place(const HostTensor& actual, const HostTensor& expected, double noise = 0);
bool within(const Difference& difference, double tolerance);
// The same, or nowhere more than `slack` apart: what rounding_slack() gives.
bool within(const Difference& difference, double tolerance, double slack);

// Of its finite elements; 0: there are none.
double largest_magnitude(const HostTensor& tensor);
// Number of the first element that is NaN or infinite, -1: none.
int64_t first_non_finite(const HostTensor& tensor);

// How far apart, in units of the result, two right evaluations of the expression may lie because values next to a
// rounding boundary fell on either side of it: 1 after one quantize, more where quantized values are dequantized and
// go on. 0 where nothing is rounded to integers.
double rounding_slack(const PointwiseExpr& expr, size_t output = 0);
std::string to_string(const Difference& difference);

}  // namespace wootz
