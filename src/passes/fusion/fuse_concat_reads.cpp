// A concatenation of channels that convolutions by single pixels alone read, as one node with each of them, which a
// step may compute whole: it then reads the parts where they are, and nothing is put together. Of 16-bit floats and
// 8-bit grids, which are what backends have such steps for. Runs when nothing else changes any more, as fuse_chains
// does. Where no kernel takes it, it is lowered as two steps, and the concatenation only once.
#include <algorithm>
#include <set>

#include "ops/infer.h"
#include "passes/pass.h"
#include "passes/support/chain_nodes.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

constexpr int kMostParts = 4;

bool joins_channels(const Node& node) {
  if (!node.is("Concat") || node.num_outputs() != 1 || node.num_inputs() < 2 || node.num_inputs() > kMostParts)
    return false;
  const DType type = node.output()->dtype();
  const int rank = node.output()->rank();
  const int64_t axis = node.attr_int("axis", 0);
  return (type == DType::kF16 || type == DType::kBF16 || is_int8(type)) && rank == 4 && (axis == 1 || axis == 1 - rank);
}

// Reads `image` pixel by pixel, and nothing else that is one of `parts`.
bool convolves_pixels(const Node& node, const Value* image, const std::set<const Value*>& parts) {
  if (!node.is("Conv") || node.num_outputs() != 1 || node.has_attr("auto_pad") ||
      node.has_attr("x_scale") != is_int8(image->dtype()) || node.attr_int("groups", 1) != 1 || node.input(0) != image)
    return false;
  const Value* const w = node.input(1);
  if (w == nullptr || !w->is_constant() || w->constant().dims()[2] != 1 || w->constant().dims()[3] != 1) return false;
  const auto all = [&](const char* name, int64_t value) {
    const std::vector<int64_t> list = node.attr_ints(name);
    return std::all_of(list.begin(), list.end(), [&](int64_t v) { return v == value; });
  };
  std::set<const Value*> read;
  for (int i = 1; i < node.num_inputs(); ++i)
    if (const Value* v = node.input(i); v == nullptr || v == image || parts.count(v) != 0 || !read.insert(v).second)
      return false;
  return all("pads", 0) && all("strides", 1);
}

// The convolutions; none: something else reads it, too.
std::vector<Node*> readers_of(const Node& concat) {
  const std::set<const Value*> parts(concat.inputs().begin(), concat.inputs().end());
  const Value* const image = concat.output();
  if (parts.size() != concat.inputs().size() || image->graph()->is_output(image)) return {};
  std::vector<Node*> readers;
  for (const Use& use : image->uses()) {
    if (!convolves_pixels(*use.node, image, parts)) return {};
    readers.push_back(use.node);
  }
  return readers;
}

}  // namespace

Result<bool> fuse_concat_reads(Graph& graph) {
  bool changed = false;
  for (Node *node = graph.first(), *next = nullptr; node != nullptr; node = next) {
    next = node->next();
    if (!joins_channels(*node)) continue;
    const std::vector<Node*> readers = readers_of(*node);
    // The chain comes after the node, where `next` may be one of its readers.
    for (Node* reader : readers) {
      Node* own = node;
      if (reader != readers.back()) {
        own = graph.add_node(node->op(), graph.unique_name(node->name()), node->inputs(), node->attrs(), 1, reader);
        own->add_provenance(*node);
        WOOTZ_RETURN_IF_ERROR(infer_node(*own));
        reader->set_input(0, own->output());
      }
      if (reader == next) next = next->next();
      Node* const both[] = {own, reader};
      WOOTZ_ASSIGN_OR_RETURN(const bool fused, chain_nodes(graph, both));
      changed = changed || fused;
    }
  }
  return changed;
}

}  // namespace wootz
