// Whether a network's products of floats of 8 bits are computed of those, or of wider floats.
#pragma once

#include "build/context.h"
#include "passes/pass.h"

namespace wootz {

// Leaves out the pass that makes such products where no kernel of the target multiplies floats of 8 bits: to dequantize
// constants now and activations in passing is faster there. Says so in the log, for a network that has any.
void choose_fp8_products(const BuildContext& context, const Graph& graph, PipelineOptions* pipeline);

}  // namespace wootz
