#include "passes/support/known_scalar.h"

#include <cmath>

#include "ir/op_def.h"
#include "passes/support/rewrite.h"

namespace wootz {

std::optional<double> known_scalar(const Value* value, int depth) {
  if (value == nullptr || depth == 0) return std::nullopt;
  if (value->shape_values() && value->shape_values()->size() == 1 && value->shape_values()->front().is_const())
    return static_cast<double>(value->shape_values()->front().value());
  if (value->is_constant()) return scalar_constant(value);
  const Node* node = value->producer();
  if (node == nullptr || node->has_attr("epilogue") || node->num_outputs() != 1) return std::nullopt;
  const std::optional<double> a = known_scalar(node->input(0), depth - 1);
  if (!a) return std::nullopt;
  if (node->is("Cast") && is_float(value->dtype())) return a;
  if (is_reshape(*node) || node->is("Identity")) return a;
  if (node->is("Sqrt")) return std::sqrt(*a);
  if (node->is("Reciprocal")) return 1 / *a;
  if (!is_float(value->dtype()) || node->num_inputs() != 2) return std::nullopt;
  const std::optional<double> b = known_scalar(node->input(1), depth - 1);
  if (!b) return std::nullopt;
  if (node->is("Mul")) return *a * *b;
  if (node->is("Div")) return *a / *b;
  if (node->is("Pow")) return std::pow(*a, *b);
  return std::nullopt;
}

Value* scaled_value(const Node& node, double* factor) {
  const bool multiplies = node.is("Mul"), divides = node.is("Div");
  if ((!multiplies && !divides) || node.has_attr("epilogue")) return nullptr;
  for (int i = 0; i < (multiplies ? 2 : 1); ++i) {
    Value* x = node.input(i);
    const std::optional<double> s = known_scalar(node.input(1 - i));
    if (!s || !(x->shape() == node.output()->shape()) || x->dtype() != node.output()->dtype()) continue;
    *factor = divides ? 1 / *s : *s;
    return std::isfinite(*factor) && *factor != 0 ? x : nullptr;
  }
  return nullptr;
}

}  // namespace wootz
