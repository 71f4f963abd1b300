// The reference interpreter: the oracle of every test, the constant folder's engine, and the fallback of every backend.
#pragma once

#include "ir/op_def.h"

namespace wootz {

// Runs one node on concrete inputs (null: omitted). Epilogues and quantization attributes included. Thread-safe.
Result<std::vector<HostTensor>> run_node(const Node& node, const std::vector<const HostTensor*>& inputs);

// Runs a whole graph. `inputs` in the order of graph.inputs(); dtypes must match, shapes are checked against the graph.
Result<std::vector<HostTensor>> run_graph(const Graph& graph, const std::vector<HostTensor>& inputs);

// The same, also giving each value asked for by id (debugging, tuning against the reference).
Result<std::vector<HostTensor>> run_graph_taps(const Graph& graph, const std::vector<HostTensor>& inputs,
                                               const std::vector<int>& tap_ids, std::vector<HostTensor>* taps);

}  // namespace wootz
