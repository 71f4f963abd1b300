// Padding in front of a convolution or pooling becomes the padding that these have anyway. The Pad stays for other
// readers.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/infer.h"
#include "passes/pass.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

struct Padding {
  std::vector<int64_t> begins, ends;  // of the spatial axes
  double value = 0;
};

// A Pad of spatial axes by a constant, nowhere negative (which would cut).
std::optional<Padding> as_padding(const Node& pad) {
  const int rank = pad.input(0)->rank();
  const std::vector<int64_t> pads = pad.attr_ints("pads");
  if (!pad.is("Pad") || pad.has_attr("epilogue") || pad.attr_string("mode", "constant") != "constant" ||
      pad.input(3) != nullptr || rank < 3 || pads.size() != 2 * static_cast<size_t>(rank))
    return std::nullopt;
  Padding p;
  if (pad.input(2) != nullptr) {
    const std::optional<double> value = scalar_constant(pad.input(2));
    if (!value) return std::nullopt;
    p.value = *value;
  } else {
    p.value = pad.attr_float("value", 0);
  }
  for (size_t a = 0; a < static_cast<size_t>(rank); ++a) {
    const int64_t begin = pads[a], end = pads[a + static_cast<size_t>(rank)];
    if (begin < 0 || end < 0 || (a < 2 && begin + end != 0)) return std::nullopt;
    if (a < 2) continue;
    p.begins.push_back(begin);
    p.ends.push_back(end);
  }
  return p;
}

// A number that no element of the value is below.
double lower_bound(const Value& value) {
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  const Node* node = value.producer();
  if (node == nullptr || node->has_attr("epilogue")) return kNone;
  for (const char* name : {"Relu", "Sigmoid", "HardSigmoid", "Abs", "Exp", "Softmax", "Softplus"})
    if (node->is(name)) return 0;
  if (node->is("Clip")) return node->attr_float("min", kNone);
  if (node->is("Pool") && node->attr_string("kind") == "max") return lower_bound(*node->input(0));
  if (node->is("Max"))
    for (int i : {0, 1})
      if (const auto c = scalar_constant(node->input(i))) return *c;
  return kNone;
}

bool fits_pool(const Node& pool, const Padding& p, const std::vector<int64_t>& own, const Value& x) {
  if (pool.attr_int("global") != 0 || pool.attr_int("ceil_mode") != 0 || pool.num_outputs() != 1) return false;
  const std::string kind = pool.attr_string("kind");
  if (kind == "avg") {  // one rule for all of the padding: counted or not
    const bool none = std::all_of(own.begin(), own.end(), [](int64_t v) { return v == 0; });
    return p.value == 0 && (none || pool.attr_int("count_include_pad") != 0);
  }
  if (kind != "max") return p.value == 0;
  // The filling must never win: every window reaches an element, and none is below the filling.
  const std::vector<int64_t> kernel = pool.attr_ints("kernel");
  for (int64_t d : pool.attr_ints("dilations"))
    if (d != 1) return false;
  for (size_t i = 0; i < kernel.size(); ++i)
    if (i >= p.begins.size() || own[i] + p.begins[i] >= kernel[i] || own[i + kernel.size()] + p.ends[i] >= kernel[i])
      return false;
  return is_float(x.dtype()) && p.value <= lower_bound(x);
}

// The pads of `node` over the unpadded tensor; nullopt when it cannot take the padding.
std::optional<std::vector<int64_t>> merged_pads(const Node& node, const Padding& p, const Value& x) {
  const size_t spatial = p.begins.size();
  std::vector<int64_t> pads = node.attr_ints("pads", std::vector<int64_t>(2 * spatial, 0));
  if (node.has_attr("auto_pad") || node.has_attr("x_scale") || pads.size() != 2 * spatial) return std::nullopt;
  const bool transposed = node.is("ConvTranspose");
  if (node.is("Pool") ? !fits_pool(node, p, pads, x) : p.value != 0) return std::nullopt;
  const std::vector<int64_t> strides = node.attr_ints("strides", std::vector<int64_t>(spatial, 1));
  for (size_t i = 0; i < spatial; ++i) {
    // A transposed convolution spreads each padded element over a stride of its output, from which pads cut.
    pads[i] += transposed ? -p.begins[i] * strides[i] : p.begins[i];
    pads[i + spatial] += transposed ? -p.ends[i] * strides[i] : p.ends[i];
    if (pads[i] < 0 || pads[i + spatial] < 0) return std::nullopt;
  }
  return pads;
}

Result<bool> take_padding(Graph& graph, Node* node) {
  Node* pad = node->input(0) == nullptr ? nullptr : node->input(0)->producer();
  if (pad == nullptr || node->input(1) == node->input(0)) return false;
  const std::optional<Padding> padding = as_padding(*pad);
  if (!padding) return false;
  std::optional<std::vector<int64_t>> pads = merged_pads(*node, *padding, *pad->input(0));
  if (!pads) return false;
  std::vector<Value*> inputs = node->inputs();
  inputs[0] = pad->input(0);
  const std::vector<std::string> origin = pad->provenance();  // the Pad may go with its last reader
  AttrMap attrs = node->attrs();
  attrs["pads"] = std::move(*pads);
  if (node->is("Pool") && node->attr_string("kind") == "avg") attrs["count_include_pad"] = int64_t{1};
  WOOTZ_ASSIGN_OR_RETURN(Node* const made,
                         replace_node(graph, node, node->op().name, std::move(inputs), std::move(attrs)));
  if (made == nullptr) return false;
  for (const std::string& name : origin) made->add_provenance(name);
  return true;
}

}  // namespace

Result<bool> fuse_padding(Graph& graph) {
  bool changed = false;
  for (Node *node = graph.first(), *next = nullptr; node != nullptr; node = next) {
    next = node->next();
    if (!node->is("Conv") && !node->is("ConvTranspose") && !node->is("Pool")) continue;
    WOOTZ_ASSIGN_OR_RETURN(const bool fused, take_padding(graph, node));
    changed = changed || fused;
  }
  return changed;
}

}  // namespace wootz
