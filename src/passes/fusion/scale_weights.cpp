#include "passes/fusion/scale_weights.h"

#include <algorithm>

#include "ir/op_def.h"
#include "ops/infer.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

bool is_conv(const Node& node) { return node.is("Conv") || node.is("ConvTranspose"); }

double at(const std::vector<double>& values, int64_t c) {
  return values[values.size() == 1 ? 0 : static_cast<size_t>(c)];
}

// Output channel of every weight element, walked in memory order.
int64_t channel_of(const Node& node, const Dims& w, int64_t element) {
  if (node.is("Conv")) return element / (w.volume() / std::max<int64_t>(1, w[0]));
  if (node.is("ConvTranspose")) {
    const int64_t groups = node.attr_int("groups", 1);
    int64_t inner = 1;
    for (size_t i = 2; i < w.size(); ++i) inner *= w[i];
    const int64_t in = element / (w[1] * inner), out = element / inner % w[1];
    return in / (w[0] / groups) * w[1] + out;
  }
  const auto last = static_cast<size_t>(w.rank() - 1);
  if (node.attr_int("trans_b", 0)) return element / w[last] % w[last - 1];
  return element % w[last];
}

}  // namespace

int channel_axis(const Node& node) { return is_conv(node) ? 1 : node.output()->rank() - 1; }

int64_t weight_channels(const Node& node) {
  const Dims& w = node.input(1)->constant().dims();
  if (node.is("Conv")) return w[0];
  if (node.is("ConvTranspose")) return w[1] * node.attr_int("groups", 1);
  return w[static_cast<size_t>(w.rank() - (node.attr_int("trans_b", 0) ? 2 : 1))];
}

bool has_foldable_weights(const Node& node) {
  if (!is_conv(node) && !node.is("MatMul")) return false;
  if (node.has_attr("epilogue") || node.num_outputs() != 1) return false;
  const Value* w = node.input(1);
  if (w == nullptr || !w->is_constant() || w->rank() < 2) return false;
  if (!is_float(w->dtype()) && !node.has_attr("w_scale")) return false;
  if (node.is("MatMul") && (w->rank() != 2 || node.input(0)->rank() < 2)) return false;
  const Value* bias = node.input(2);
  if (bias == nullptr) return true;
  return bias->is_constant() && bias->rank() <= 1;
}

Status scale_weights(Graph& graph, Node* node, const std::vector<double>& factor, const std::vector<double>& offset) {
  const int64_t channels = weight_channels(*node);
  const bool scaled = std::any_of(factor.begin(), factor.end(), [](double f) { return f != 1; });
  if (scaled && node->has_attr("w_scale")) {  // 8 bits: the factor goes into their scales
    std::vector<double> scale = node->attr_floats("w_scale");
    if (scale.size() == 1 && factor.size() > 1) scale.assign(static_cast<size_t>(channels), scale[0]);
    for (size_t c = 0; c < scale.size(); ++c) scale[c] *= at(factor, static_cast<int64_t>(c));
    node->set_attr("w_scale", std::move(scale));
  } else if (scaled) {
    const HostTensor& old = node->input(1)->constant();
    WOOTZ_ASSIGN_OR_RETURN(HostTensor w, HostTensor::allocate(old.dtype(), old.dims()));
    for (int64_t e = 0; e < old.volume(); ++e)
      w.set_f64(e, old.get_f64(e) * at(factor, channel_of(*node, old.dims(), e)));
    node->set_input(1, graph.add_constant(graph.unique_name(node->input(1)->name()), std::move(w)));
  }
  const Value* old_bias = node->input(2);
  if (offset.empty() && (old_bias == nullptr || !scaled)) return infer_node(*node);
  const DType dtype = old_bias != nullptr ? old_bias->dtype() : node->output()->dtype();
  WOOTZ_ASSIGN_OR_RETURN(HostTensor bias, HostTensor::allocate(dtype, Dims{channels}));
  for (int64_t c = 0; c < channels; ++c) {
    const double before =
        old_bias == nullptr ? 0 : old_bias->constant().get_f64(old_bias->constant().volume() == 1 ? 0 : c);
    bias.set_f64(c, before * at(factor, c) + (offset.empty() ? 0 : at(offset, c)));
  }
  Value* made = graph.add_constant(graph.unique_name(node->name() + "_bias"), std::move(bias));
  if (node->num_inputs() > 2)
    node->set_input(2, made);
  else
    node->add_input(made);
  return infer_node(*node);
}

}  // namespace wootz
