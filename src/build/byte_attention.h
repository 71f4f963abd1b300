// Whether attention whose weights a network rounds to 8 bits is one step, or two products and a softmax.
#pragma once

#include "build/context.h"
#include "passes/pass.h"

namespace wootz {

// Leaves out the passes that make such steps where no kernel of the target computes them.
void choose_byte_attention(const BuildContext& context, const Graph& graph, PipelineOptions* pipeline);

}  // namespace wootz
