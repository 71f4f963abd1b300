#include "backend/random_state.h"

#include "backend/op_kernels.h"

namespace wootz {

bool is_random_state(const Problem& problem) {
  return problem.family() == Family::kOp && problem.as<OpParams>().op == "RandomState";
}

Result<RandomState> first_random_state(const Problem& problem) {
  const auto* params = op_params<RandomStateOpParams>(problem);
  const bool fits = params != nullptr && problem.inputs.empty() && problem.outputs.size() == 1 &&
                    problem.outputs[0].dtype == DType::kI64 && problem.outputs[0].dims == Dims{2};
  if (!fits) return corrupt("a step that is no random state");
  return RandomState{params->key ? *params->key : fresh_random_key(), 0};
}

}  // namespace wootz
