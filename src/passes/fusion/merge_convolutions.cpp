// Convolutions alike over one input whose results, through the same activation, are concatenated side by side: one
// convolution with all their filters, which reads the input once. What would have to be taken apart again is left
// alone.
#include <algorithm>
#include <cstring>

#include "ops/infer.h"
#include "ops/registry.h"
#include "passes/pass.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

// A convolution after operand `index` of a concatenation, and the activation in between, if there is one.
struct Branch {
  Node* conv = nullptr;
  Node* activation = nullptr;
};

bool read_once(const Value* value) { return only_user(value) != nullptr && value->uses().size() == 1; }

Branch branch_of(const Node& concat, int index) {
  const Value* value = concat.input(index);
  if (value == nullptr || !read_once(value)) return {};
  Branch b;
  Node* node = value->producer();
  if (node != nullptr && node->op().lowering == Lowering::kPointwise && node->num_inputs() == 1 &&
      node->num_outputs() == 1 && node->input(0) != nullptr && read_once(node->input(0))) {
    b.activation = node;
    node = node->input(0)->producer();
  }
  if (node == nullptr || !node->is("Conv") || node->has_attr("epilogue") || node->has_attr("x_scale") ||
      node->attr_int("groups", 1) != 1)
    return {};
  const Value *w = node->input(1), *bias = node->input(2);
  if (w == nullptr || !w->is_constant() || (bias != nullptr && (!bias->is_constant() || bias->dtype() != w->dtype())))
    return {};
  b.conv = node;
  return b;
}

bool alike(const Branch& a, const Branch& b) {
  const auto same_node = [](const Node* x, const Node* y) {
    if (x == nullptr || y == nullptr) return x == y;
    const std::optional<std::string> key = attribute_key(*x);
    return &x->op() == &y->op() && key && key == attribute_key(*y);
  };
  if (!same_node(a.conv, b.conv) || !same_node(a.activation, b.activation) || a.conv->input(0) != b.conv->input(0))
    return false;
  const Dims &wa = a.conv->input(1)->constant().dims(), &wb = b.conv->input(1)->constant().dims();
  return a.conv->input(1)->dtype() == b.conv->input(1)->dtype() && wa.size() == wb.size() &&
         std::equal(wa.begin() + 1, wa.end(), wb.begin() + 1);
}

// Constants concatenated along their first axis; zeros where a part has none.
Result<HostTensor> stacked(const std::vector<Branch>& parts, int input) {
  Dims dims = parts[0].conv->input(1)->constant().dims();
  dims[0] = 0;
  for (const Branch& b : parts) dims[0] += b.conv->input(1)->constant().dims()[0];
  if (input == 2) dims = {dims[0]};
  WOOTZ_ASSIGN_OR_RETURN(HostTensor all, HostTensor::allocate(parts[0].conv->input(1)->dtype(), dims));
  auto* to = static_cast<char*>(all.mutable_data());
  const size_t each = dims[0] == 0 ? 0 : all.bytes() / static_cast<size_t>(dims[0]);
  for (const Branch& b : parts) {
    const size_t bytes = each * static_cast<size_t>(b.conv->input(1)->constant().dims()[0]);
    if (const Value* v = b.conv->input(input))
      std::memcpy(to, v->constant().data(), bytes);
    else
      std::memset(to, 0, bytes);
    to += bytes;
  }
  return all;
}

Result<Value*> merged(Graph& graph, const std::vector<Branch>& parts, Node* before) {
  const Node& model = *parts[0].conv;
  WOOTZ_ASSIGN_OR_RETURN(HostTensor weights, stacked(parts, 1));
  std::vector<Value*> inputs{model.input(0), graph.add_constant(graph.unique_name(model.name() + "_merged"), weights)};
  if (std::any_of(parts.begin(), parts.end(), [](const Branch& b) { return b.conv->input(2) != nullptr; })) {
    WOOTZ_ASSIGN_OR_RETURN(HostTensor bias, stacked(parts, 2));
    inputs.push_back(graph.add_constant(graph.unique_name(model.name() + "_merged_bias"), bias));
  }
  const auto copy = [&](const Node& like, std::vector<Value*> operands, auto part) -> Result<Value*> {
    Node* made =
        graph.add_node(like.op(), graph.unique_name(like.name()), std::move(operands), like.attrs(), 1, before);
    for (const Branch& b : parts) made->add_provenance(*part(b));
    WOOTZ_RETURN_IF_ERROR(infer_node(*made));
    return made->output();
  };
  WOOTZ_ASSIGN_OR_RETURN(Value * value, copy(model, std::move(inputs), [](const Branch& b) { return b.conv; }));
  if (parts[0].activation == nullptr) return value;
  return copy(*parts[0].activation, {value}, [](const Branch& b) { return b.activation; });
}

Result<bool> merge_at(Graph& graph, Node* concat) {
  const int rank = concat->output()->rank();
  const int64_t axis = concat->attr_int("axis");
  if (rank < 3 || (axis != 1 && axis != 1 - rank)) return false;
  std::vector<Value*> operands;
  bool changed = false;
  for (int i = 0; i < concat->num_inputs();) {
    std::vector<Branch> parts{branch_of(*concat, i)};
    int next = i + 1;
    for (; parts[0].conv != nullptr && next < concat->num_inputs(); ++next) {
      const Branch b = branch_of(*concat, next);
      if (b.conv == nullptr || !alike(parts[0], b)) break;
      parts.push_back(b);
    }
    if (parts.size() < 2) {
      operands.push_back(concat->input(i++));
      continue;
    }
    WOOTZ_ASSIGN_OR_RETURN(Value * value, merged(graph, parts, concat));
    operands.push_back(value);
    changed = true;
    i = next;
  }
  if (!changed) return false;
  if (operands.size() == 1) {
    replace_and_erase(graph, concat->output(), operands[0]);
    return true;
  }
  WOOTZ_ASSIGN_OR_RETURN(Node * made, replace_node(graph, concat, concat->op().name, operands, concat->attrs()));
  if (made == nullptr) return internal_error("a shorter concatenation is of another type");
  return true;
}

}  // namespace

Result<bool> merge_convolutions(Graph& graph) {
  bool changed = false;
  for (Node* node : graph.nodes()) {
    if (!node->is("Concat") || node->num_outputs() != 1) continue;
    WOOTZ_ASSIGN_OR_RETURN(const bool merged_here, merge_at(graph, node));
    changed = changed || merged_here;
  }
  return changed;
}

}  // namespace wootz
