// A subgraph's nodes, written into the graph being imported.
#pragma once

#include "ops/onnx_import.h"

namespace wootz::ops {

// Reads `inputs` in place of the subgraph's inputs; gives what stands for its outputs.
Result<std::vector<Value*>> inline_graph(ImportContext& ctx, const Graph& body, const std::vector<Value*>& inputs);

}  // namespace wootz::ops
