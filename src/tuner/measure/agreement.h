// Whether a kernel's results agree with the reference's: how far right results may lie apart, and why.
#pragma once

#include <string>
#include <vector>

#include "tuner/measure/check_case.h"

namespace wootz {

// How far a right output may be from the reference, by types, the length of the sum and the expression: relative to its
// scale, and in its own units (what falls on either side of a rounding boundary).
struct Allowance {
  double tolerance = 0, slack = 0;
};
Allowance allowance_for(const Problem& problem, size_t output, DType dtype, int64_t longest);

// The share of the elements that are further apart than `most`.
double share_apart(const HostTensor& actual, const HostTensor& expected, double most);

// How far right sums of these operands may lie apart although the result is small: terms that cancel, as the mean of
// what was normalized. 0 where the family sums nothing.
double cancellation_noise(const Problem& problem, const std::vector<HostTensor>& inputs);

// Empty when the results agree; otherwise where and by how much they do not. `*error`: the largest relative difference.
// `allowed`: what is let pass at least, for arithmetic that was asked to be coarser than its types (TF32). `stray`: the
// share of a result's elements that may be anything, where two right evaluations can differ by a jump.
std::string disagreement(const Problem& problem, const CheckCase& expected, const std::vector<HostTensor>& actual,
                         double* error, double allowed = 0, double stray = 0);
// Whether rounding may move a result across a jump: floor, comparisons, the nearest of several places.
bool may_jump(const Problem& problem);

}  // namespace wootz
