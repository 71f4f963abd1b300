#include "backend/quantize_rows.h"

#include "base/fp8.h"

namespace wootz {
namespace {

bool normalizes_rows(const Step& step) {
  const auto* norm = step.problem.as_if<NormParams>();
  return norm != nullptr && (norm->kind == NormKind::kLayer || norm->kind == NormKind::kRms) &&
         !step.problem.inputs.empty() && norm->axis == step.problem.inputs[0].dims.rank() - 1;
}

// That operands are of the types that the expression reads them as.
Status check_value(const Problem& p, const RowOperands& operands, bool normalizes) {
  const PointwiseExpr& value = p.as<QuantizeRowsParams>().value;
  if (value.empty()) {
    if (p.inputs.size() != static_cast<size_t>(operands.first) + 1)
      return invalid_argument("quantize_rows: {} operands and no expression", p.inputs.size());
    return Status();
  }
  WOOTZ_RETURN_IF_ERROR(value.verify());
  if (value.outputs.size() != 1 || static_cast<size_t>(operands.first) + value.num_inputs > p.inputs.size())
    return invalid_argument("quantize_rows: an expression of {} operands with {} results", value.num_inputs,
                            value.outputs.size());
  for (uint16_t k = normalizes ? 1 : 0; k < value.num_inputs; ++k) {
    const DType read = value.input_type(k), have = p.inputs[static_cast<size_t>(operands.first + k)].dtype;
    if (read != DType::kInvalid && read != have)
      return invalid_argument("quantize_rows: operand {} is read as {}, it is {}", k, dtype_name(read),
                              dtype_name(have));
  }
  const DType own = normalizes ? value.input_type(0) : DType::kInvalid;
  if (own != DType::kInvalid && own != p.inputs[0].dtype)
    return invalid_argument("quantize_rows: normalized rows of {} are read as {}", dtype_name(p.inputs[0].dtype),
                            dtype_name(own));
  return Status();
}

}  // namespace

std::optional<Step> make_quantize_rows(const Step& first, const Step& rounding, bool keeps) {
  const bool normalizes = normalizes_rows(first);
  if ((!normalizes && !first.problem.is(Family::kPointwise)) || first.outputs.size() != 1 ||
      rounding.inputs.size() != 1 || rounding.inputs[0] != first.outputs[0] || first.inputs.empty())
    return std::nullopt;
  Step made = first;
  made.problem.params = rounding.problem.params;
  auto& params = made.problem.as<QuantizeRowsParams>();
  if (normalizes) {
    const auto& norm = first.problem.as<NormParams>();
    params.normalizes = true;
    params.centered = norm.kind == NormKind::kLayer;
    params.epsilon = norm.epsilon;
    params.has_scale = norm.has_scale;
    params.has_bias = norm.has_bias;
  }
  params.value = first.problem.epilogue;
  made.problem.epilogue = {};
  made.problem.num_main = static_cast<int>(made.inputs.size());
  made.problem.acc_dtype = DType::kF32;
  made.problem.passing = first.problem.passing || rounding.problem.passing;
  made.outputs = rounding.outputs;
  if (keeps) made.outputs.push_back(first.outputs[0]);
  return made;
}

Result<RowOperands> row_operands(const Problem& p) {
  const auto* params = p.as_if<QuantizeRowsParams>();
  if (params == nullptr || p.inputs.empty() || p.outputs.size() < 2 || p.outputs.size() > 3 ||
      static_cast<size_t>(p.num_main) != p.inputs.size() || !p.epilogue.empty())
    return invalid_argument("quantize_rows: {} operands and {} results", p.inputs.size(), p.outputs.size());
  if (!(params->divisor > 0) || !(params->factor >= 0) || !(params->least >= 0))
    return invalid_argument("quantize_rows: scales by {} and {}, {} at least", params->divisor, params->factor,
                            params->least);
  RowOperands operands;
  if (params->normalizes) {
    if (params->has_bias && !params->has_scale) return unsupported("quantize_rows: a bias without a scale");
    if (params->has_scale) operands.scale = ++operands.first;
    if (params->has_bias) operands.bias = ++operands.first;
    if (static_cast<size_t>(operands.first) >= p.inputs.size())
      return invalid_argument("quantize_rows: {} operands", p.inputs.size());
    for (int i = 0; i <= operands.first; ++i)
      if (!is_model_float(p.inputs[static_cast<size_t>(i)].dtype))
        return unsupported("quantize_rows: a normalization of {}", dtype_name(p.inputs[static_cast<size_t>(i)].dtype));
  }
  WOOTZ_RETURN_IF_ERROR(check_value(p, operands, params->normalizes));
  operands.type = params->value.empty() ? p.inputs[0].dtype : params->value.output_type();
  if (!is_model_float(operands.type)) return unsupported("quantize_rows: rows of {}", dtype_name(operands.type));
  const DType to = p.outputs[0].dtype;
  if ((to != DType::kI8 && to != DType::kF8E4M3) || p.outputs[1].dtype != DType::kF32 ||
      (p.outputs.size() > 2 && p.outputs[2].dtype != operands.type))
    return unsupported("quantize_rows: results of {} with scales of {}", dtype_name(to),
                       dtype_name(p.outputs[1].dtype));
  for (const auto* list : {&p.inputs, &p.outputs})
    for (const TensorDesc& t : *list)
      if (t.layout != Layout::kLinear) return unsupported("quantize_rows in layout {}", layout_name(t.layout));
  return operands;
}

Status check_row_extents(const Problem& p, std::span<const Dims> inputs, std::span<const Dims> outputs) {
  WOOTZ_ASSIGN_OR_RETURN(const RowOperands operands, row_operands(p));
  if (inputs.size() != p.inputs.size() || outputs.size() != p.outputs.size())
    return invalid_argument("quantize_rows: {} inputs and {} outputs to bind", inputs.size(), outputs.size());
  const Dims& y = outputs[0];
  if (y.rank() < 1) return invalid_argument("quantize_rows of a scalar");
  Dims scales = y;
  scales[scales.size() - 1] = 1;
  const bool given = p.as<QuantizeRowsParams>().normalizes || p.as<QuantizeRowsParams>().value.empty();
  if (!(outputs[1] == scales) || (outputs.size() > 2 && !(outputs[2] == y)) || (given && !(inputs[0] == y)))
    return invalid_argument("quantize_rows of {} gives {} with scales {}", inputs[0].to_string(), y.to_string(),
                            outputs[1].to_string());
  for (const int i : {operands.scale, operands.bias})
    if (i >= 0 && inputs[static_cast<size_t>(i)].volume() != y.back())
      return unsupported("quantize_rows: a parameter of shape {} for rows of {}",
                         inputs[static_cast<size_t>(i)].to_string(), y.back());
  return Status();
}

}  // namespace wootz
