#include "build/kernel_probe.h"

namespace wootz {

TensorDesc probe_tensor(DType type, const Dims& dims, bool constant) {
  TensorDesc t;
  t.dtype = type;
  t.dims = t.max_dims = dims;
  t.constant = constant;
  return t;
}

bool any_kernel_for(const BuildContext& context, const Problem& problem, std::vector<Refusal>* refusals) {
  std::vector<Candidate> offers;
  std::vector<Refusal> unread;
  for (const Provider* provider : context.providers())
    provider->tactics(problem, context.limits, &offers, refusals == nullptr ? &unread : refusals);
  return !offers.empty();
}

}  // namespace wootz
