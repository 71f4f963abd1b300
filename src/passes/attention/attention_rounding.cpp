#include "passes/attention/attention_rounding.h"

#include <cmath>

#include "passes/support/rewrite.h"

namespace wootz {
namespace {

// Of a Quantize or Dequantize; nullopt: by no constant grid of one scale, or computed in bf16.
std::optional<ScoreRounding> grid_of(const Node& node, DType type, RoundingTypes types) {
  const Value *scale = node.input(1), *zero = node.input(2);
  if (!types(type) || scale == nullptr || !scale->is_constant() || scale->constant().volume() != 1) return std::nullopt;
  if (node.is("Quantize") && node.attr_dtype("precision", scale->dtype()) == DType::kBF16) return std::nullopt;
  if (node.attr_int("saturate", 1) == 0) return std::nullopt;
  ScoreRounding grid{scale->constant().get_f64(0), 0, type};
  if (!std::isnormal(static_cast<float>(grid.scale)) || grid.scale < 0) return std::nullopt;
  if (zero == nullptr) return grid;
  if (!zero->is_constant() || zero->constant().volume() != 1) return std::nullopt;
  grid.zero = zero->constant().get_f64(0);
  if (is_fp8(type) && grid.zero != 0) return std::nullopt;
  return grid;
}

}  // namespace

void ScoreRounding::set(const char* letter, AttrMap* attrs) const {
  if (!given()) return;
  const std::string name = letter;
  (*attrs)[name + "_scale"] = scale;
  if (zero != 0) (*attrs)[name + "_zero"] = zero;
  (*attrs)[name + "_type"] = std::string(dtype_name(type));
}

Value* rounded_value(Node* dequantize, RoundingTypes types, ScoreRounding* rounding, std::vector<Node*>* nodes) {
  if (!dequantize->is("Dequantize") || dequantize->has_attr("epilogue")) return nullptr;
  Node* const quantize = dequantize->input(0)->producer();
  if (quantize == nullptr || !quantize->is("Quantize") || only_user(quantize->output()) != dequantize) return nullptr;
  const DType type = quantize->output()->dtype();
  if (!is_model_float(quantize->input(0)->dtype()) || !is_model_float(dequantize->output()->dtype())) return nullptr;
  const auto a = grid_of(*quantize, type, types), b = grid_of(*dequantize, type, types);
  if (!a || !b || a->scale != b->scale || a->zero != b->zero) return nullptr;
  *rounding = *a;
  if (type == DType::kI8 && a->zero == -128) {  // the same numbers
    rounding->type = DType::kU8;
    rounding->zero = 0;
  }
  nodes->insert(nodes->end(), {dequantize, quantize});
  return quantize->input(0);
}

bool is_rounded(const Value* value, RoundingTypes types) {
  const Node* const node = value->producer();
  if (node == nullptr || !node->is("Dequantize") || node->input(0)->is_constant()) return false;
  return grid_of(*node, node->input(0)->dtype(), types).has_value();
}

}  // namespace wootz
