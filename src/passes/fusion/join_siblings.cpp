// Convolutions alike of the same image, which differ in their filters alone, as one node with the result of each: the
// two of a C3 block, and the reductions by single pixels at the head of an Inception block. A step may compute them as
// one convolution of all channels, which reads the image once. Of 16-bit floats, which are what backends have such
// steps for; also where they read a concatenation that is not made. Likewise products of one tensor by packed weights:
// query, key and value of a decoder, which takes a row at a time. Runs last of all, when what else they could have
// become part of is known. Where no kernel takes it, it is lowered as they are.
#include <algorithm>
#include <map>

#include "passes/pass.h"
#include "passes/support/chain_nodes.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

constexpr size_t kMost = 4;          // a kernel takes as many results
constexpr int64_t kChannelStep = 8;  // what is stored at once is of one result
constexpr int64_t kColumnStep = 16;  // what is multiplied at once, of packed weights

// Of a convolution, whose weights are operand 1 of it and the operand `weights` of `outer`. Empty: none of these.
std::string key_of(const Node& conv, const Node& outer, size_t weights) {
  const DType type = outer.output()->dtype();
  if (!conv.is("Conv") || (type != DType::kF16 && type != DType::kBF16) || conv.has_attr("auto_pad") ||
      conv.has_attr("x_scale") || conv.attr_int("groups", 1) != 1)
    return {};
  if (conv.has_attr("epilogue") && conv.attr_int("main_inputs") != conv.num_inputs()) return {};
  if (conv.input(0)->dtype() != type) return {};
  for (size_t i = weights; i < outer.inputs().size(); ++i)
    if (outer.inputs()[i] == nullptr || !outer.inputs()[i]->is_constant()) return {};
  const Dims& w = outer.inputs()[weights]->constant().dims();
  const std::optional<std::string> attributes = attribute_key(conv);
  if (!attributes || w.rank() < 3 || w[0] % kChannelStep != 0) return {};
  std::string key = fmt::format("{} {} {}", *attributes, dtype_name(type), conv.num_inputs());
  for (size_t a = 1; a < w.size(); ++a) key += fmt::format(" {}", w[a]);
  for (size_t i = 0; i < weights; ++i) key += fmt::format(" {}", outer.inputs()[i]->id());
  return key;
}

// Of a product by packed weights. What its expression reads are constants with a value for each column.
std::string key_of_product(const Node& product) {
  const Dims& scale = product.input(2)->is_constant() ? product.input(2)->constant().dims() : Dims{};
  const std::optional<std::string> attributes = attribute_key(product);
  if (!attributes || scale.rank() != 2 || scale[1] % kColumnStep != 0) return {};
  std::string key =
      fmt::format("product {} {} {}", *attributes, product.input(0)->id(), dtype_name(product.output()->dtype()));
  for (int i = 1; i < product.num_inputs(); ++i) {
    const Value* const v = product.input(i);
    if (v == nullptr || !v->is_constant() || v->rank() < 1) return {};
    const Dims& dims = v->constant().dims();
    if (i > 1 && dims.back() != scale[1]) return {};
    key += fmt::format(" {} {} {}", dtype_name(v->dtype()), dims.rank(), dims.volume() / scale[1]);
  }
  return key;
}

struct Sibling {
  std::string key;  // what those alike share; empty: there is nothing to share
  size_t shared = 0;
};

Sibling sibling_of(const Node& node) {
  if (node.is("Conv")) return {key_of(node, node, 1), 1};
  if (node.is("WeightOnlyMatMul")) return {key_of_product(node), 1};
  const std::shared_ptr<Graph> body = node.is("Chain") ? node.attr_graph("body") : nullptr;
  if (body == nullptr || body->num_nodes() != 2 || node.num_outputs() != 1) return {};
  const Node &concat = *body->first(), &conv = *body->last();
  if (!concat.is("Concat") || conv.input(0) != concat.output()) return {};
  const auto shared = static_cast<size_t>(concat.num_inputs());
  const std::optional<std::string> attributes = attribute_key(concat);
  if (!attributes || node.inputs().size() != shared + static_cast<size_t>(conv.num_inputs()) - 1) return {};
  const std::string key = key_of(conv, node, shared);
  return {key.empty() ? key : *attributes + " then " + key, shared};
}

struct Group {
  std::vector<Node*> nodes;
  size_t shared = 0;
};

}  // namespace

Result<bool> join_siblings(Graph& graph) {
  std::map<std::string, size_t> place;
  std::vector<Group> groups;  // in the order of the graph
  for (Node* node = graph.first(); node != nullptr; node = node->next()) {
    const Sibling own = sibling_of(*node);
    if (own.key.empty()) continue;
    const auto [at, fresh] = place.try_emplace(own.key, groups.size());
    if (!fresh && groups[at->second].nodes.size() == kMost) at->second = groups.size();
    if (at->second == groups.size()) groups.push_back({{}, own.shared});
    groups[at->second].nodes.push_back(node);
  }
  bool changed = false;
  for (const Group& group : groups) {
    if (group.nodes.size() < 2) continue;
    WOOTZ_ASSIGN_OR_RETURN(const bool grouped, group_siblings(graph, group.nodes, group.shared));
    changed = changed || grouped;
  }
  return changed;
}

}  // namespace wootz
