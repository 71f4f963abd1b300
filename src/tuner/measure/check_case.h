// What a kernel's results are held against: inputs, small where they can be, and what the reference makes of them.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "backend/indices.h"
#include "backend/problem.h"
#include "base/tensor.h"

namespace wootz {

// The outputs of a step for these inputs (row-major, invalid where omitted), by the slow and trusted way. The extents
// are the inputs', not the step's own. Errors are no verdict: the extents do not go together, say.
using ReferenceFunction =
    std::function<Result<std::vector<HostTensor>>(StepIndex step, const std::vector<HostTensor>& inputs)>;

struct CheckCase {
  std::vector<HostTensor> inputs;
  std::vector<HostTensor> expected;
  bool reduced = false;  // smaller than the problem
  bool finite = true;    // no NaN and no infinity in `expected`
  std::vector<Dims> output_dims() const;
};

// Length of the longest sum of one element, from the extents: an upper estimate.
int64_t longest_sum(const Problem& problem);

// What the whole costs the reference, roughly. Of several results the first may be the least of it, as of a gate beside
// its image.
double multiplications(const Problem& problem);

// A case that costs at most about `work` multiplications of the reference. `full`: inputs of the problem's own extents,
// whose constants are used as they are. Nothing when the reference can do none.
std::optional<CheckCase> small_case(const Problem& problem, StepIndex step, const std::vector<HostTensor>& full,
                                    const ReferenceFunction& reference, double work, uint64_t seed);
// The problem itself, whatever it costs.
std::optional<CheckCase> full_case(const Problem& problem, StepIndex step, const std::vector<HostTensor>& full,
                                   const ReferenceFunction& reference);

}  // namespace wootz
