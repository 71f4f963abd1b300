// A convolution of few channels and the one of single pixels that alone reads it, as a bottleneck of an image network
// ends with (its shortcut is an operand of the second), as one node: a step may keep what is in between. So is the
// shortcut where a convolution by single pixels makes it: the step may add up the products of both. And the convolution
// by single pixels that the next block begins with, around that node: the result, which others read too, is multiplied
// again where it is made. Of 16-bit floats and of many pixels, which is what backends have such steps for. Where no
// kernel takes it, it is lowered as the steps that it is of.
#include <vector>

#include "passes/pass.h"
#include "passes/support/chain_nodes.h"
#include "passes/support/convolutions.h"
#include "passes/support/replacement.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

// Of 16 bits, in one group, at steps of 1.
bool fits(const Node& node) {
  const DType type = node.output()->dtype();
  if ((type != DType::kF16 && type != DType::kBF16) || !is_convolution(node) || node.input(0)->dtype() != type ||
      node.attr_int("groups", 1) != 1)
    return false;
  for (const char* name : {"strides", "dilations"})
    for (const int64_t step : node.attr_ints(name))
      if (step != 1) return false;
  return true;
}

// Whose expression reads constants alone.
bool is_first(const Node& node) { return fits(node) && !is_pointwise_convolution(node) && reads_one_value(node); }

bool is_second(const Node& node) { return fits(node) && is_pointwise_convolution(node); }

int64_t weights_of(const Node& node) { return node.input(1)->constant().dims().volume(); }

// A convolution by single pixels that `second` alone reads, in its expression; null: there is none. So many weights
// it may have.
Node* shortcut_of(const Node& second, int64_t most_weights) {
  if (!second.has_attr("epilogue")) return nullptr;
  for (auto i = static_cast<int>(second.attr_int("main_inputs")); i < second.num_inputs(); ++i) {
    Node* const made = maker_for(second.input(i), second);
    if (made != nullptr && is_second(*made) && reads_one_value(*made) && !made->has_attr("epilogue") &&
        made->output()->shape() == second.output()->shape() && weights_of(*made) <= most_weights)
      return made;
  }
  return nullptr;
}

// The weights of both stay where a block computes.
constexpr int64_t kMostWeights = 100 << 10;

// And there are tiles of 8 by 8 pixels for most blocks.
bool is_worth_it(const Node& first, const Node& second) {
  constexpr int64_t kLeastTiles = 64, kSide = 8;
  if (weights_of(first) + weights_of(second) > kMostWeights) return false;
  const Shape& shape = second.output()->shape();
  for (const size_t axis : {0, 2, 3})
    if (!shape[axis].is_const()) return true;
  const auto tiles = [&](size_t axis) { return (shape[axis].value() + kSide - 1) / kSide; };
  return shape[0].value() * tiles(2) * tiles(3) >= kLeastTiles;
}

// Where the expression that adds a convolution by single pixels and a shortcut that another one makes hangs on the
// shortcut's, it is hung on the other: the two exchange what they are to each other.
Result<bool> exchange(Graph& graph, Node* shortcut) {
  if (!is_second(*shortcut) || !shortcut->has_attr("epilogue")) return false;
  const PointwiseExpr& expr = *shortcut->attr_expr("epilogue");
  const auto main = static_cast<int>(shortcut->attr_int("main_inputs"));
  for (int i = main; i < shortcut->num_inputs(); ++i) {
    Node* const second = maker_for(shortcut->input(i), *shortcut);
    if (second == nullptr || !is_second(*second) || second->has_attr("epilogue")) continue;
    Node* const first = maker_for(second->input(0), *second);
    const DType type = shortcut->output()->dtype();
    const auto operand = static_cast<uint16_t>(i - main + 1);
    if (first == nullptr || !is_first(*first) || !is_worth_it(*first, *second) || expr.input_type(0) != type ||
        expr.input_type(operand) != type || !(second->output()->shape() == shortcut->output()->shape()))
      continue;
    PointwiseExpr exchanged = expr;
    for (PwInstr& in : exchanged.code)
      if (in.op == PwOp::kInput && (in.a == 0 || in.a == operand)) in.a = static_cast<uint16_t>(operand - in.a);
    const std::vector<Value*>& given = shortcut->inputs();
    AttrMap plain = shortcut->attrs(), attrs = second->attrs();
    plain.erase("epilogue");
    plain.erase("main_inputs");
    attrs["epilogue"] = exchanged;
    attrs["main_inputs"] = static_cast<int64_t>(second->num_inputs());
    Replacement replacement(graph, shortcut);
    std::vector<Value*> inputs = second->inputs();
    inputs.insert(inputs.end(), given.begin() + main, given.end());
    inputs[static_cast<size_t>(second->num_inputs() + operand - 1)] =
        replacement.op("Conv", {given.begin(), given.begin() + main}, plain);
    Value* const result = replacement.op("Conv", inputs, attrs);
    if (!replacement.failed()) result->producer()->add_provenance(*second);
    WOOTZ_RETURN_IF_ERROR(replacement.finish({result}));
    return true;
  }
  return false;
}

// The same with a convolution by single pixels that reads the result beside others.
Result<bool> take_next(Graph& graph, Node* block) {
  constexpr int64_t kMostColumns = 128;
  const Value* const made = block->output();
  if (made->uses().size() < 2 && !graph.is_output(made)) return false;
  int64_t weights = 0;
  for (const Value* v : block->inputs())
    if (v->is_constant() && v->rank() == 4) weights += v->constant().dims().volume();
  for (const Use& use : made->uses()) {
    Node* const next = use.node;
    if (!is_second(*next) || next->input(0) != made || !reads_one_value(*next) ||
        next->input(1)->constant().dims()[0] > kMostColumns || weights + weights_of(*next) > kMostWeights)
      continue;
    return chain_at_first(graph, block, next);
  }
  return false;
}

}  // namespace

Result<bool> fuse_bottlenecks(Graph& graph) {
  bool changed = false;
  for (Node *node = graph.first(), *next = nullptr; node != nullptr; node = next) {
    next = node->next();
    WOOTZ_ASSIGN_OR_RETURN(const bool exchanged, exchange(graph, node));
    changed = changed || exchanged;
  }
  std::vector<Node*> blocks;
  for (Node *node = graph.first(), *next = nullptr; node != nullptr; node = next) {
    next = node->next();
    Node* const first = maker_for(node->input(0), *node);
    if (first == nullptr || !is_second(*node) || !is_first(*first) || !is_worth_it(*first, *node)) continue;
    Node* const shortcut = shortcut_of(*node, kMostWeights - weights_of(*first) - weights_of(*node));
    const std::vector<Node*> all = shortcut == nullptr ? std::vector{first, node} : std::vector{shortcut, first, node};
    WOOTZ_ASSIGN_OR_RETURN(const bool fused, chain_nodes(graph, all));
    if (fused) blocks.push_back(next == nullptr ? graph.last() : next->prev());
  }
  for (Node* const block : blocks) WOOTZ_RETURN_IF_ERROR(take_next(graph, block).status());
  return changed || !blocks.empty();
}

}  // namespace wootz
