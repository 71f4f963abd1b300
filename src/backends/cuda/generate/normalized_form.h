// Weights of a product of normalized rows, by which the rows are multiplied as they are.
#pragma once

#include "backend/packed_form.h"
#include "backend/problem.h"
#include "base/tensor.h"

namespace wootz::cuda {

// norm(x) * w + b is the inverse deviation times (x * w' - mean * the sums of w'), plus bias * w + b, where w' is w
// with the normalization's scale. Columns of w' as weight_columns() has them, rounded to w's type after a factor that
// brings its largest element near 1; then, in FP32 and with the product's alpha, the sums of what w' is rounded to,
// bias * w, and the factor's inverse. `scale`, `bias`: of the rows' length; or none.
std::vector<std::byte> normalized_columns(const Problem& product, const HostTensor& w, const HostTensor& scale,
                                          const HostTensor& bias, int64_t step);
// The same as a form of a plan's constant.
PackedForm normalized_form(const Problem& product, const HostTensor& w, const HostTensor& scale, const HostTensor& bias,
                           int64_t step);

}  // namespace wootz::cuda
