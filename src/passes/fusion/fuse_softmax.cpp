// What follows a softmax: its logarithm is one op of its own (and does not overflow), and picking the k largest of each
// line needs no tensor of all probabilities.
#include "passes/pass.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

Node* softmax_before(const Node& node) {
  Node* softmax = node.input(0) == nullptr ? nullptr : node.input(0)->producer();
  const bool plain = softmax != nullptr && softmax->is("Softmax") && !softmax->has_attr("epilogue");
  return plain && only_user(softmax->output()) == &node ? softmax : nullptr;
}

int64_t axis_of(const Node& node) {
  const int64_t axis = node.attr_int("axis", -1);
  return axis < 0 ? axis + node.input(0)->rank() : axis;
}

Result<bool> logarithm(Graph& graph, Node* node) {
  Node* softmax = node->is("Log") ? softmax_before(*node) : nullptr;
  if (softmax == nullptr) return false;
  const std::vector<std::string> origin = softmax->provenance();
  WOOTZ_ASSIGN_OR_RETURN(Node* const made, replace_node(graph, node, "LogSoftmax", {softmax->input(0)},
                                                        {{"axis", softmax->attr_int("axis", -1)}}));
  if (made == nullptr) return false;
  for (const std::string& name : origin) made->add_provenance(name);
  return true;
}

// The line is still softmaxed before it is sorted, so elements whose probabilities are equal keep their order.
bool topk(Graph& graph, Node* node) {
  Node* softmax = node->is("TopK") && node->has_attr("k") ? softmax_before(*node) : nullptr;
  if (softmax == nullptr || node->attr_int("softmax", 0) != 0 || axis_of(*softmax) != axis_of(*node)) return false;
  const std::vector<std::string> origin = softmax->provenance();
  node->set_input(0, softmax->input(0));
  node->set_attr("softmax", int64_t{1});
  for (const std::string& name : origin) node->add_provenance(name);
  erase_if_dead(graph, softmax);
  return true;
}

}  // namespace

Result<bool> fuse_softmax(Graph& graph) {
  bool changed = false;
  for (Node *node = graph.first(), *next = nullptr; node != nullptr; node = next) {
    next = node->next();
    WOOTZ_ASSIGN_OR_RETURN(const bool logged, logarithm(graph, node));
    changed = changed || logged || topk(graph, node);
  }
  return changed;
}

}  // namespace wootz
