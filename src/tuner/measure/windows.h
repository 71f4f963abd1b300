// Parts of a problem itself that the reference can afford: what a kernel makes of the whole is held against them there.
// A small case asks for other extents, for which a kernel that is compiled has to be compiled once more.
#pragma once

#include <string>
#include <vector>

#include "tuner/measure/check_case.h"

namespace wootz {

struct CheckWindow {
  CheckCase part;  // the operands that decide these results, and the results
  Dims at;         // where in the whole result they begin
};

// Of a convolution, also of what an expression makes, a product or a norm: results at the beginning and at the end of
// every axis that the reference would walk long, of at most about `work` multiplications in all. `full`: the operands
// of the whole. Nothing for other problems, and where the reference's results have other extents than these.
std::vector<CheckWindow> windows_of(const Problem& problem, StepIndex step, const std::vector<HostTensor>& full,
                                    const ReferenceFunction& reference, double work);

// Empty when a kernel's results of the whole agree with all windows; otherwise as disagreement() says it.
std::string disagreement(const Problem& problem, const std::vector<CheckWindow>& windows,
                         const std::vector<HostTensor>& whole, double* error, double allowed = 0, double stray = 0);

// `extents` of a tensor from `at` on. Errors: not all of it is there, elements that are no whole bytes, no memory.
Result<HostTensor> part_of(const HostTensor& whole, const Dims& at, const Dims& extents);

}  // namespace wootz
