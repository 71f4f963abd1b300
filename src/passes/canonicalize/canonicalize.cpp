// Forms that no kernel family has and that say nothing new: GEMMs with vectors are GEMMs with matrices of one row
// or column, padding that follows from known extents is a list of numbers, and transposed convolutions of few channels
// whose windows lie side by side are convolutions of one pixel each, whose results then move to their places.
#include <algorithm>
#include <optional>

#include "ops/infer.h"
#include "ops/registry.h"
#include "ops/support/window.h"
#include "passes/pass.h"
#include "passes/quantization/qdq.h"
#include "passes/support/replacement.h"
#include "passes/support/rewrite.h"
#include "passes/support/windows.h"

namespace wootz {
namespace {

Result<bool> widen_vectors(Graph& graph, Node* node) {
  if (!node->is("MatMul") || node->num_inputs() != 2 || node->has_attr("epilogue")) return false;
  const bool row = node->input(0)->rank() == 1, column = node->input(1)->rank() == 1;
  if ((!row && !column) || node->attr_int("trans_a") != 0 || node->attr_int("trans_b") != 0) return false;
  Value *a = node->input(0), *b = node->input(1);
  const int rank = node->output()->rank();
  Replacement replacement(graph, node);
  if (row) a = replacement.unsqueeze(a, {0});
  if (column) b = replacement.unsqueeze(b, {1});
  Value* y = replacement.op("MatMul", {a, b}, node->attrs());
  std::vector<int64_t> axes;
  if (row) axes.push_back(rank + (column ? 0 : -1));
  if (column) axes.push_back(rank + (row ? 1 : 0));
  y = replacement.squeeze(y, std::move(axes));
  if (replacement.failed()) return replacement.status();
  replace_and_erase(graph, node->output(), y);
  return true;
}

bool canonicalize_padding(Node* node) {
  if (!node->has_attr("auto_pad")) return false;  // so it has an input: a constant has none
  const int rank = node->input(0)->rank();
  if (rank < 3) return false;
  const Result<Window> window = read_window(*node, rank - 2);
  if (!window.ok()) return false;
  std::vector<int64_t> kernel = node->attr_ints("kernel");
  if (node->is("Conv") || node->is("ConvInteger")) {
    kernel.clear();
    for (size_t i = 2; i < node->input(1)->shape().size(); ++i) {
      const Dim& d = node->input(1)->shape()[i];
      if (!d.is_const()) return false;
      kernel.push_back(d.value());
    }
  }
  const auto spatial = static_cast<size_t>(window->rank);
  std::vector<int64_t> pads(2 * spatial, 0);
  if (kernel.size() != spatial && window->auto_pad != AutoPad::kExplicit && window->auto_pad != AutoPad::kValid)
    return false;
  for (size_t i = 0; i < spatial; ++i) {
    if (window->auto_pad == AutoPad::kExplicit) {
      pads[i] = window->begins[i];
      pads[i + spatial] = window->ends[i];
      continue;
    }
    if (window->auto_pad == AutoPad::kValid) continue;
    const auto total = window_padding(*window, static_cast<int>(i), node->input(0)->shape()[i + 2], kernel[i]);
    if (!total) return false;
    pads[i] = window->auto_pad == AutoPad::kSameUpper ? *total / 2 : *total - *total / 2;
    pads[i + spatial] = *total - pads[i];
  }
  node->remove_attr("auto_pad");
  if (window->auto_pad != AutoPad::kExplicit) node->remove_attr("ceil_mode");  // whole windows only
  node->set_attr("pads", std::move(pads));
  return true;
}

// Kernels go by vectors of output channels: with so many in all, a transposed convolution has hardly any of them full.
constexpr int64_t kFewChannels = 16;

// The extent of its square windows, if they lie side by side.
std::optional<int64_t> block_of(const Node& node) {
  if (!node.is("ConvTranspose") || node.num_outputs() != 1 || node.has_attr("epilogue") || node.has_attr("x_scale"))
    return std::nullopt;
  const Value* const w = node.input(1);
  if (w == nullptr || !w->is_constant() || w->dtype() != DType::kF32 || w->rank() != 4) return std::nullopt;
  if (node.input(2) != nullptr && !node.input(2)->is_constant()) return std::nullopt;
  const Node* const before = node.input(0)->producer();
  if (before != nullptr && before->is("Dequantize")) return std::nullopt;  // it has an 8-bit form
  const Dims& dims = w->constant().dims();
  const int64_t block = dims[2];
  const bool side_by_side = block > 1 && dims[3] == block && windows_lie_side_by_side(node, block, block);
  return side_by_side && dims[1] * block * block <= kFewChannels ? std::optional(block) : std::nullopt;
}

// From [in, out, block, block] to [out * block * block, in, 1, 1].
Result<HostTensor> by_pixel(const HostTensor& w) {
  const int64_t in = w.dims()[0], out = w.volume() / std::max<int64_t>(1, in);
  WOOTZ_ASSIGN_OR_RETURN(HostTensor made, HostTensor::allocate(DType::kF32, Dims{out, in, 1, 1}));
  for (int64_t i = 0; i < in; ++i)
    for (int64_t o = 0; o < out; ++o)
      made.as_mutable<float>()[static_cast<size_t>(o * in + i)] = w.as<float>()[static_cast<size_t>(i * out + o)];
  return made;
}

Result<HostTensor> for_each_pixel(const HostTensor& bias, int64_t pixels) {
  WOOTZ_ASSIGN_OR_RETURN(HostTensor made, HostTensor::allocate(DType::kF32, Dims{bias.volume() * pixels}));
  for (int64_t i = 0; i < made.volume(); ++i)
    made.as_mutable<float>()[static_cast<size_t>(i)] = bias.as<float>()[static_cast<size_t>(i / pixels)];
  return made;
}

// What follows element by element, of this value and single numbers.
Node* next_by_element(const Value* value) {
  Node* const user = only_user(value);
  if (user == nullptr || user->op().lowering != Lowering::kPointwise || user->num_outputs() != 1) return nullptr;
  for (const Value* other : user->inputs())
    if (other != value && !(other != nullptr && other->is_constant() && other->constant().volume() == 1))
      return nullptr;
  return user->output()->shape() == value->shape() ? user : nullptr;
}

// What follows `node` element by element, of `pixels` instead: it is part of the convolution then.
Result<Value*> with_what_follows(Graph& graph, Node** node, Value* pixels) {
  constexpr int kMost = 8;
  for (int steps = 0; steps < kMost; ++steps) {
    Node* const next = next_by_element((*node)->output());
    if (next == nullptr) break;
    std::vector<Value*> inputs = next->inputs();
    std::replace(inputs.begin(), inputs.end(), (*node)->output(), pixels);
    WOOTZ_ASSIGN_OR_RETURN(const Node* made, clone_on(graph, *next, std::move(inputs), next));
    pixels = made->output();
    *node = next;
  }
  return pixels;
}

Result<bool> part_windows(Graph& graph, Node* node) {
  const std::optional<int64_t> block = block_of(*node);
  if (!block) return false;
  if (node->input(2) != nullptr && node->input(2)->dtype() != DType::kF32) return false;
  Replacement replacement(graph, node);
  WOOTZ_ASSIGN_OR_RETURN(HostTensor weights, by_pixel(node->input(1)->constant()));
  std::vector<Value*> inputs{node->input(0),
                             graph.add_constant(graph.unique_name(node->input(1)->name()), std::move(weights))};
  if (node->input(2) != nullptr) {
    WOOTZ_ASSIGN_OR_RETURN(HostTensor bias, for_each_pixel(node->input(2)->constant(), *block * *block));
    inputs.push_back(graph.add_constant(graph.unique_name(node->input(2)->name()), std::move(bias)));
  }
  Value* pixels = replacement.op("Conv", std::move(inputs), {});
  if (replacement.failed()) return replacement.status();
  WOOTZ_ASSIGN_OR_RETURN(pixels, with_what_follows(graph, &node, pixels));
  Replacement last(graph, node);
  Value* const y = last.op("DepthToSpace", {pixels}, {{"blocksize", *block}, {"mode", std::string("CRD")}});
  if (last.failed()) return last.status();
  replace_and_erase(graph, node->output(), y);
  return true;
}

}  // namespace

Result<bool> canonicalize(Graph& graph) {
  bool changed = false;
  std::vector<Node*> transposed;  // what else goes with one of them is no transposed convolution
  for (Node* node : graph.nodes()) {
    if (node->is("ConvTranspose")) transposed.push_back(node);
    if (canonicalize_padding(node)) {
      WOOTZ_RETURN_IF_ERROR(infer_node(*node));
      changed = true;
    }
    WOOTZ_ASSIGN_OR_RETURN(const bool widened, widen_vectors(graph, node));
    changed = changed || widened;
  }
  for (Node* node : transposed) {
    WOOTZ_ASSIGN_OR_RETURN(const bool parted, part_windows(graph, node));
    changed = changed || parted;
  }
  return changed;
}

}  // namespace wootz
