// A convolution of a few channels whose windows lie side by side, as a vision transformer begins with, is a product:
// each window is a row, of as many elements as its filter has. Convolutions by so few channels and so large windows are
// what libraries of GPUs are slowest at, and after one the pixels mostly become rows of tokens anyway. On processors
// they take as long as the product: for backends that say so.
#include <optional>

#include "passes/pass.h"
#include "passes/support/replacement.h"
#include "passes/support/rewrite.h"
#include "passes/support/windows.h"

namespace wootz {
namespace {

constexpr int64_t kFewChannels = 4;   // with more, a convolution is a good one
constexpr int64_t kLeastWindow = 49;  // pixels: shorter rows are a short sum, whose rearrangement costs as much

struct Patches {
  int64_t channels = 0, filters = 0, high = 0, wide = 0;  // of a window
  int64_t rows = 0, columns = 0;                          // windows
};

std::optional<Patches> patches_of(const Node& node) {
  if (!node.is("Conv") || node.num_outputs() != 1 || node.has_attr("epilogue") || node.has_attr("x_scale") ||
      node.has_attr("auto_pad"))
    return std::nullopt;
  const Value *x = node.input(0), *w = node.input(1), *bias = node.input(2);
  if (x->rank() != 4 || w == nullptr || !w->is_constant() || w->rank() != 4 || !is_float(x->dtype()) ||
      w->dtype() != x->dtype() || (bias != nullptr && !bias->is_constant()))
    return std::nullopt;
  if (x->producer() != nullptr && x->producer()->is("Dequantize")) return std::nullopt;  // it may have an 8-bit form
  const Dims& f = w->constant().dims();
  Patches p{f[1], f[0], f[2], f[3]};
  if (p.channels > kFewChannels || p.high * p.wide < kLeastWindow || !windows_lie_side_by_side(node, p.high, p.wide))
    return std::nullopt;
  if (!x->shape()[2].is_const() || !x->shape()[3].is_const()) return std::nullopt;
  const int64_t height = x->shape()[2].value(), width = x->shape()[3].value();
  if (height < p.high || width < p.wide || height % p.high != 0 || width % p.wide != 0) return std::nullopt;
  p.rows = height / p.high;
  p.columns = width / p.wide;
  return p;
}

Status unfold(Graph& graph, Node* node, const Patches& p) {
  const Value* const w = node->input(1);
  const int64_t depth = p.channels * p.high * p.wide;
  Replacement made(graph, node);
  // [n, channels, rows, high, columns, wide] to windows one after the other.
  Value* x = made.reshape(node->input(0), {0, p.channels, p.rows, p.high, p.columns, p.wide});
  x = made.reshape(made.transpose(x, {0, 2, 4, 1, 3, 5}), {0, p.rows * p.columns, depth});
  std::vector<Value*> operands{
      x, graph.add_constant(graph.unique_name(w->name()), w->constant().reshaped(Dims{p.filters, depth}))};
  if (node->input(2) != nullptr) operands.push_back(node->input(2));
  Value* y = made.op("MatMul", std::move(operands), {{"trans_b", int64_t{1}}});
  return made.finish({made.reshape(made.transpose(y, {0, 2, 1}), {0, p.filters, p.rows, p.columns})});
}

}  // namespace

Result<bool> unfold_patches(Graph& graph) {
  bool changed = false;
  for (Node* node : graph.nodes()) {
    const std::optional<Patches> patches = patches_of(*node);
    if (!patches) continue;
    WOOTZ_RETURN_IF_ERROR(unfold(graph, node, *patches));
    changed = true;
  }
  return changed;
}

}  // namespace wootz
