#include "passes/precision/closing_steps.h"

#include <algorithm>

#include "ops/registry.h"

namespace wootz {
namespace {

bool may_close(const Node& node) {
  switch (node.op().lowering) {
    case Lowering::kPointwise:
    case Lowering::kReduce:
    case Lowering::kSoftmax:
    case Lowering::kNorm:
    case Lowering::kMove:
    case Lowering::kView:
    case Lowering::kGather: return true;
    default: return false;
  }
}

}  // namespace

std::unordered_set<const Node*> find_closing_steps(const Graph& graph) {
  std::unordered_set<const Node*> after, closing;
  const std::vector<Node*> nodes = graph.nodes();
  for (const Node* node : nodes)
    for (const Value* in : node->inputs())
      if (in != nullptr && in->producer() != nullptr &&
          (!may_close(*in->producer()) || after.count(in->producer()) != 0))
        after.insert(node);
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    const Node* const node = *it;
    const auto closes = [&](const Value* out) {
      return out == nullptr || std::all_of(out->uses().begin(), out->uses().end(),
                                           [&](const Use& use) { return closing.count(use.node) != 0; });
    };
    if (may_close(*node) && after.count(node) != 0 &&
        std::all_of(node->outputs().begin(), node->outputs().end(), closes))
      closing.insert(node);
  }
  const auto decodes = [](const Node* n) {
    const Lowering lowering = n->op().lowering;
    return lowering == Lowering::kReduce || lowering == Lowering::kSoftmax || lowering == Lowering::kNorm;
  };
  if (std::none_of(closing.begin(), closing.end(), decodes)) closing.clear();
  return closing;
}

}  // namespace wootz
