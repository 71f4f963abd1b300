// Whether the target computes a step of some kind at all, asked with a small problem before the network is rewritten.
#pragma once

#include "build/context.h"

namespace wootz {

TensorDesc probe_tensor(DType type, const Dims& dims, bool constant = false);
// Whether some kernel takes it. `refusals`: why others do not; may be null.
bool any_kernel_for(const BuildContext& context, const Problem& problem, std::vector<Refusal>* refusals = nullptr);

}  // namespace wootz
