// What propagate_qdq does, of floats of 8 bits. It is for devices that compute with them: on others the build leaves
// this pass out, and what moves elements does so in the model's own type.
#include "passes/pass.h"
#include "passes/quantization/qdq.h"

namespace wootz {

Result<bool> propagate_fp8(Graph& graph) { return propagate(graph, read_fp8_grid); }

}  // namespace wootz
