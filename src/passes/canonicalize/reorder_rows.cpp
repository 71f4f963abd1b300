// Rows of batch and sequence between transpositions of the two are computed in the other order, where all that is then
// left of the transpositions is an attention that reads or writes its rows so. Models whose attention wants the
// sequence first (nn.MultiheadAttention) in a network that has the batch first are exported with one in front of each
// attention and one after it; the second one keeps a residual apart from its product.
#include <unordered_set>

#include "ops/attention/attention_view.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "passes/canonicalize/row_region.h"
#include "passes/pass.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

// Writes the nodes of a region anew, each in front of the one it stands for.
class Rewriter {
 public:
  Rewriter(Graph& graph, const RowRegion& region) : graph_(graph), region_(region) {}

  Status run() {
    for (Node* node : graph_.nodes()) {
      const auto found = region_.nodes.find(node);
      if (found == region_.nodes.end()) continue;
      switch (found->second) {
        case RegionRole::kInside: WOOTZ_RETURN_IF_ERROR(write_inside(*node)); break;
        case RegionRole::kReshape: WOOTZ_RETURN_IF_ERROR(write_reshape(*node)); break;
        case RegionRole::kTranspose: WOOTZ_RETURN_IF_ERROR(write_transpose(*node)); break;
        case RegionRole::kAttention: WOOTZ_RETURN_IF_ERROR(write_attention(*node)); break;
      }
    }
    std::unordered_set<const Value*> taken;
    for (auto [from, to] : ends_) {
      if (!taken.insert(to).second) {  // has the name of another
        WOOTZ_ASSIGN_OR_RETURN(Node* const copy, add(*from->producer(), op("Identity"), {to}, {}));
        to = copy->output();
      }
      take_place(graph_, from, to);
    }
    return {};
  }

 private:
  bool has(const Value* value) const { return region_.rows.count(value) != 0; }

  Result<Node*> add(Node& old, const OpDef& op, std::vector<Value*> inputs, AttrMap attrs) {
    Node* made = graph_.add_node(op, graph_.unique_name(old.name()), std::move(inputs), std::move(attrs),
                                 old.num_outputs(), &old);
    made->add_provenance(old);
    for (const Value* in : old.inputs())
      if (in != nullptr && passed_.count(in) != 0)
        for (const Node* node : passed_.at(in)) made->add_provenance(*node);
    WOOTZ_RETURN_IF_ERROR(infer_node(*made));
    return made;
  }

  Status give(const Value* old, Value* value) {
    const Shape want = exchanged_shape(old->shape(), region_.rows.at(old), region_.axes);
    if (!(value->shape() == want) || value->dtype() != old->dtype())
      return internal_error("rows {} in the other order are {}", shape_to_string(old->shape()),
                            shape_to_string(value->shape()));
    values_[old] = value;
    return {};
  }

  Status write_inside(Node& node) {
    const RowWise& reads = region_.reads.at(&node);
    std::vector<Value*> inputs = node.inputs();
    for (const int i : reads.rows) inputs[static_cast<size_t>(i)] = values_.at(node.input(i));
    for (const int i : reads.constants) {
      WOOTZ_ASSIGN_OR_RETURN(inputs[static_cast<size_t>(i)], exchanged_constant(node, i));
    }
    const RowForm form = region_.rows.at(node.output());
    WOOTZ_ASSIGN_OR_RETURN(Node* const made, add(node, node.op(), std::move(inputs), attributes_for_two(node, form)));
    for (int o = 0; o < node.num_outputs(); ++o) WOOTZ_RETURN_IF_ERROR(give(node.output(o), made->output(o)));
    return {};
  }

  Result<Value*> exchanged_constant(const Node& node, int index) {
    std::vector<int64_t> perm;
    for (int64_t axis = 0; axis < node.output()->rank(); ++axis) perm.push_back(axis < 2 ? 1 - axis : axis);
    return untransposed(graph_, node.input(index), perm);
  }

  // What joins or parts the two axes of the rows alone is not needed: both are there in the other order.
  Status write_reshape(Node& node) {
    Value* x = values_.at(node.input(0));
    const Shape want = exchanged_shape(node.output()->shape(), region_.rows.at(node.output()), region_.axes);
    if (x->shape() == want) {
      pass_by(node.output(), node.input(0), node);
      return give(node.output(), x);
    }
    std::vector<int64_t> target;  // only the rows' extents may be open, and stay what they are
    for (const Dim& d : want) target.push_back(d.is_const() ? d.value() : 0);
    Value* shape = add_ints(graph_, node.name() + "_shape", target);
    WOOTZ_ASSIGN_OR_RETURN(Node* const made, add(node, op("Reshape"), {x, shape}, {}));
    return give(node.output(), made->output());
  }

  Status write_transpose(Node& node) {
    const bool given = has(node.output());
    Value* x = given ? node.input(0) : values_.at(node.input(0));
    const std::vector<int64_t> perm = exchanged(permutation(node), given);
    if (is_identity(perm)) {
      pass_by(node.output(), node.input(0), node);
      if (!given && x->producer() != nullptr) x->producer()->add_provenance(node);
    } else {
      WOOTZ_ASSIGN_OR_RETURN(Node* const made, add(node, node.op(), {x}, {{"perm", perm}}));
      x = made->output();
    }
    if (given) return give(node.output(), x);
    ends_.emplace_back(node.output(), x);
    return {};
  }

  Status write_attention(Node& node) {
    std::vector<Value*> inputs = node.inputs();
    AttrMap attrs = node.attrs();
    for (int i = 0; i < 3; ++i) {
      if (!has(node.input(i))) continue;
      inputs[static_cast<size_t>(i)] = values_.at(node.input(i));
      std::vector<int64_t> view = node.attr_ints(ops::view_attr(i));
      view[4] = view[4] != 0 ? 0 : 1;
      attrs[ops::view_attr(i)] = view;
    }
    if (has(node.output())) attrs["merged"] = 3 - node.attr_int("merged");
    WOOTZ_ASSIGN_OR_RETURN(Node* const made, add(node, node.op(), std::move(inputs), std::move(attrs)));
    if (has(node.output())) return give(node.output(), made->output());
    ends_.emplace_back(node.output(), made->output());
    return {};
  }

  // Readers of `value` also stand for the node that is not written again, and for those before it.
  void pass_by(const Value* value, const Value* before, const Node& node) {
    std::vector<const Node*> nodes{&node};
    if (const auto earlier = passed_.find(before); earlier != passed_.end())
      nodes.insert(nodes.end(), earlier->second.begin(), earlier->second.end());
    passed_[value] = std::move(nodes);
  }

  Graph& graph_;
  const RowRegion& region_;
  std::unordered_map<const Value*, Value*> values_;  // in the other order
  std::unordered_map<const Value*, std::vector<const Node*>> passed_;
  std::vector<std::pair<Value*, Value*>> ends_;  // values outside, and what is to be in their place
};

// A transposition of the first two axes and of no others.
bool exchanges_rows(const Node& node) {
  return node.is("Transpose") && !node.has_attr("epilogue") && node.input(0)->rank() >= 3 &&
         is_identity(exchanged(permutation(node), true));
}

}  // namespace

Result<bool> reorder_rows(Graph& graph) {
  bool changed = false;
  for (const bool after : {true, false}) {
    std::vector<int> seeds;  // ids: rewriting erases nodes
    for (const Node* node = graph.first(); node != nullptr; node = node->next())
      if (exchanges_rows(*node)) seeds.push_back((after ? node->output() : node->input(0))->id());
    for (const int id : seeds) {
      const Value* seed = graph.value_by_id(id);
      const std::optional<RowRegion> region = seed == nullptr ? std::nullopt : find_row_region(graph, seed);
      if (!region) continue;
      WOOTZ_RETURN_IF_ERROR(Rewriter(graph, *region).run());
      changed = true;
    }
  }
  return changed;
}

}  // namespace wootz
