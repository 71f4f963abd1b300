// Small helpers that several passes share.
#pragma once

#include "ir/graph.h"
#include "ir/op_def.h"

namespace wootz {

// The only node that reads the value (possibly through several of its inputs), when the value is no graph output.
inline Node* only_user(const Value* value) {
  if (value->uses().empty() || value->graph()->is_output(value)) return nullptr;
  Node* user = value->uses()[0].node;
  for (const Use& use : value->uses())
    if (use.node != user) return nullptr;
  return user;
}

// What makes the value, where `reader` alone reads it, once; null: it is an input or a constant, or read otherwise.
inline Node* maker_for(const Value* value, const Node& reader) {
  return value == nullptr || value->uses().size() != 1 || only_user(value) != &reader ? nullptr : value->producer();
}

inline bool is_reshape(const Node& node) {
  return node.is("Reshape") || node.is("Unsqueeze") || node.is("Squeeze") || node.is("Flatten");
}

// Whether the result is the operand's elements in another shape.
bool is_view(const Node& node);

// Whether the node is the mean over all axes of an image: all but the first two.
bool is_spatial_mean(const Node& node);

// A convolution or a product.
inline bool multiplies(const Node& node) {
  return node.op().lowering == Lowering::kConv || node.op().lowering == Lowering::kGemm;
}

// Whether the node's kernel family finishes its results by an expression (attribute "epilogue").
bool carries_epilogue(const Node& node);

// Text that nodes with equal attributes share, and no others. Nullopt: with tensors or subgraphs, which are not
// compared.
std::optional<std::string> attribute_key(const Node& node);

// Erases the node if nothing reads it, then whatever that leaves unread.
void erase_if_dead(Graph& graph, Node* node);

// Gives `to` the name of `from` in front of every reader, and drops the producer of `from` if it is dead then.
void replace_and_erase(Graph& graph, Value* from, Value* to);

// The same where the producer of `to` was changed so that it computes what `from` held: `to` takes over the name, and
// its own name and elements are gone.
void become_and_erase(Graph& graph, Value* from, Value* to);
// And where it was made for that.
inline void take_place(Graph& graph, Value* from, Value* to) { become_and_erase(graph, from, to); }

// Puts a node of `op_name` in the place of `old`, which has one output: same type and name, or null and an untouched
// graph when the new one would be of another type.
Result<Node*> replace_node(Graph& graph, Node* old, std::string_view op_name, std::vector<Value*> inputs,
                           AttrMap attrs);

// What a Transpose does to its input's axes: output axis i is input axis permutation[i].
std::vector<int64_t> permutation(const Node& transpose);
bool is_identity(const std::vector<int64_t>& perm);

// A constant, of at most as many axes, as it has to be so that transposing it by `perm` gives what it was.
Result<Value*> untransposed(Graph& graph, Value* constant, const std::vector<int64_t>& perm);

// An i64 list as a constant of the graph.
Value* add_ints(Graph& graph, std::string_view name, const std::vector<int64_t>& values);

// Replaces a node whose inputs are all constants by its results, however large. False: they are not.
Result<bool> fold_node(Graph& graph, Node* node);

// The single element of a constant of one element; nullopt otherwise.
std::optional<double> scalar_constant(const Value* value);

// A constant as f64 elements laid along `axis` of a tensor of rank `rank`: volume 1, or 1 on every other axis.
// Size 1 or `channels`; nullopt when the constant varies along another axis.
std::optional<std::vector<double>> per_channel(const Value* value, int rank, int axis, int64_t channels);

}  // namespace wootz
