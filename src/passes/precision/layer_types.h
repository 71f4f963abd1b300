// The types that the application asks of single layers.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace wootz {

// A layer, and the type that it is asked to compute in.
struct AskedType {
  std::string layer;                 // for messages
  std::vector<std::string> origins;  // of which the provenance of its nodes has one
  DType type = DType::kInvalid;
};

// A layer that does not compute as asked, and why.
struct TypeRefusal {
  std::string layer, why;
};

// To be run before the passes. Nodes of a layer that is asked to compute in another float type than its operands have
// read and give that type between casts, so that what is next to it keeps its own. `refuses`: why the target does not
// compute in a type; empty where it does.
Result<std::vector<TypeRefusal>> apply_layer_types(Graph& graph, const std::vector<AskedType>& types,
                                                   const std::function<std::string(DType)>& refuses);

// The origins of layers that are asked to stay in FP32: for assign_precision().
std::set<std::string, std::less<>> kept_in_f32(const std::vector<AskedType>& types);

// Puts a cast after output `out` of a node, for all that read it: the cast's result takes the name and the uses.
Result<Node*> cast_after(Graph& graph, Value* out, DType type);

}  // namespace wootz
