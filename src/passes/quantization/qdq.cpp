#include "passes/quantization/qdq.h"

#include <cmath>

#include "base/fp8.h"
#include "ops/infer.h"
#include "passes/support/rewrite.h"

namespace wootz {

std::optional<QuantGrid> read_grid(const Node& node, std::string* why) {
  const auto no = [&](std::string reason) {
    if (why != nullptr) *why = std::move(reason);
    return std::nullopt;
  };
  if (!is_qdq(node) || node.input(0) == nullptr || node.output() == nullptr)
    return no("it is no Quantize or Dequantize");
  const bool quantize = node.is("Quantize");
  const Value *real = quantize ? node.input(0) : node.output(), *byte = quantize ? node.output() : node.input(0);
  if (!is_int8(byte->dtype())) return no(fmt::format("{} is no 8-bit integer type", dtype_name(byte->dtype())));
  if (real->dtype() != DType::kF32) return no(fmt::format("its other side is {}, not f32", dtype_name(real->dtype())));
  QuantGrid grid;
  grid.type = byte->dtype();
  grid.scale = node.input(1);
  grid.zero = node.input(2);
  if (grid.scale == nullptr || !grid.scale->is_constant()) return no("its scale is computed while running");
  if (grid.scale->dtype() != DType::kF32) return no(fmt::format("its scale is {}", dtype_name(grid.scale->dtype())));
  if (grid.zero != nullptr && !grid.zero->is_constant()) return no("its zero point is computed while running");
  if (node.has_attr("precision") && node.attr_dtype("precision") != DType::kF32)
    return no(fmt::format("it computes in {}", dtype_name(node.attr_dtype("precision"))));
  const HostTensor& scale = grid.scale->constant();
  if (scale.volume() < 1) return no("its scale is empty");
  grid.per_tensor = scale.volume() == 1 && (grid.zero == nullptr || grid.zero->constant().volume() == 1);
  grid.s = scale.get_f64(0);
  // Of weights, single channels may be all zeros, with a scale of about nothing.
  for (int64_t i = 0; i < scale.volume(); ++i) {
    const double s = scale.get_f64(i);
    if (!std::isfinite(s) || s < 0 || (grid.per_tensor && !std::isnormal(static_cast<float>(s))))
      return no(fmt::format("its scale {} is no positive number", s));
  }
  if (grid.zero != nullptr) grid.z = grid.zero->constant().volume() > 0 ? grid.zero->constant().get_f64(0) : 0;
  return grid;
}

std::optional<QuantGrid> read_fp8_grid(const Node& node) {
  if (!is_fp8_qdq(node)) return std::nullopt;
  const bool quantize = node.is("Quantize");
  const Value *real = quantize ? node.input(0) : node.output(), *byte = quantize ? node.output() : node.input(0);
  QuantGrid grid;
  grid.type = byte->dtype();
  grid.scale = node.input(1);
  grid.zero = node.input(2);
  if (!is_model_float(real->dtype()) || grid.scale == nullptr || !grid.scale->is_constant()) return std::nullopt;
  if (node.attr_int("saturate", 1) == 0) return std::nullopt;
  const HostTensor& scale = grid.scale->constant();
  if (scale.volume() < 1 || (grid.zero != nullptr && !all_zeros(*grid.zero))) return std::nullopt;
  grid.per_tensor = scale.volume() == 1 && (grid.zero == nullptr || grid.zero->constant().volume() == 1);
  grid.s = scale.get_f64(0);
  for (int64_t i = 0; i < scale.volume(); ++i)
    if (const double s = scale.get_f64(i); !std::isfinite(s) || s < 0 || (grid.per_tensor && s == 0))
      return std::nullopt;
  return grid;
}

bool all_zeros(const Value& zero) {
  if (!zero.is_constant()) return false;
  const HostTensor& values = zero.constant();
  for (int64_t i = 0; i < values.volume(); ++i)
    if (values.get_f64(i) != 0) return false;
  return true;
}

bool is_fp8_qdq(const Node& node) {
  if (!is_qdq(node) || node.input(0) == nullptr || node.output() == nullptr) return false;
  return is_fp8((node.is("Quantize") ? node.output() : node.input(0))->dtype());
}

bool same_grid(const QuantGrid& a, const QuantGrid& b) {
  return a.type == b.type && a.per_tensor && b.per_tensor && a.s == b.s && a.z == b.z;
}

Result<Node*> clone_on(Graph& graph, const Node& node, std::vector<Value*> inputs, Node* before) {
  Node* made = graph.add_node(node.op(), graph.unique_name(node.name()), std::move(inputs), node.attrs(),
                              node.num_outputs(), before);
  made->add_provenance(node);
  WOOTZ_RETURN_IF_ERROR(infer_node(*made));
  return made;
}

}  // namespace wootz
