// Nodes that stand for several nodes of the model say so by their names: fusedPointwiseNode(add1, relu1) for what is
// pointwise throughout, conv1 + bn1 + relu1 for anything else.
#include <algorithm>

#include "passes/pass.h"

namespace wootz {
namespace {

constexpr size_t kMaxNamed = 8;  // nodes of the model spelled out in one name

std::string fused_name(const Node& node) {
  const std::vector<std::string>& origin = node.provenance();
  const bool pointwise = node.is("Pointwise");
  std::string name = pointwise ? "fusedPointwiseNode(" : "";
  for (size_t i = 0; i < std::min(origin.size(), kMaxNamed); ++i) {
    if (i > 0) name += pointwise ? ", " : " + ";
    name += origin[i];
  }
  if (origin.size() > kMaxNamed) name += fmt::format(" and {} more", origin.size() - kMaxNamed);
  return name + (pointwise ? ")" : "");
}

}  // namespace

Result<bool> name_fusions(Graph& graph) {
  bool changed = false;
  for (Node* node = graph.first(); node != nullptr; node = node->next()) {
    if (node->provenance().size() < 2) continue;
    std::string name = fused_name(*node);
    // A second node of the same origin (a piece of what was split) has the name with a number behind it.
    if (node->name().rfind(name, 0) == 0) continue;
    node->set_name(graph.unique_name(name));
    changed = true;
  }
  return changed;
}

}  // namespace wootz
