// A normalization whose result is also rounded to 8 bits or to a float of 16, for the products that read it, gives
// both, and an attention whose result is only rounded gives that: the rounding would read the whole tensor again to
// make a quarter to a half of it.
#include <algorithm>

#include "base/expressions.h"
#include "base/fp8.h"
#include "lower/context.h"

namespace wootz {
namespace {

// `tail` on what `first` stores, as one more result; `constants`: the tail's operands but 0.
PointwiseExpr with_rounding(PointwiseExpr first, const PointwiseExpr& tail, const std::vector<double>& constants) {
  const std::vector<uint16_t> rounded = append_expression(&first, tail, [&](const PwInstr& load) {
    return load.a == 0 ? first.outputs[0] : first.constant(constants[load.a - 1U], load.type);
  });
  first.outputs.push_back(rounded[0]);
  return first;
}

// A cast of FP32 to 16 bits, and nothing else.
bool is_narrowing(const PointwiseExpr& expr) {
  const PwInstr& last = expr.code[expr.outputs[0]];
  const bool narrow = last.type == DType::kBF16 || last.type == DType::kF16;
  return narrow && expr.code.size() == 2 && last.op == PwOp::kCast && expr.code[last.a].op == PwOp::kInput &&
         expr.code[last.a].type == DType::kF32;
}

}  // namespace

// The single elements of the step's operands but 0; nullopt: one of them is no such constant.
std::optional<std::vector<double>> LowerContext::scalars_after_first(const Step& step) const {
  std::vector<double> found;
  for (size_t i = 1; i < step.inputs.size(); ++i) {
    if (!step.inputs[i].exists()) return std::nullopt;
    const PlanTensor& t = lowered_.program.tensors[step.inputs[i]];
    if (t.kind != TensorKind::kConstant) return std::nullopt;
    const PlanConstant& c = lowered_.program.constants[t.constant];
    if (c.dims.volume() != 1) return std::nullopt;
    found.push_back(HostTensor::wrap(c.dtype, c.dims, c.data, c.owner).get_f64(0));
  }
  return found;
}

// The constants of a step that only rounds one tensor to 8 bits; nullopt: it is another one.
std::optional<std::vector<double>> LowerContext::constants_of_rounding(const Step& rounding) const {
  if (options_.providers.empty() || rounding.inputs.empty() || rounding.outputs.size() != 1 ||
      rounding.problem.epilogue.outputs.size() != 1)
    return std::nullopt;
  const PointwiseExpr& expr = rounding.problem.epilogue;
  if (const DType to = expr.output_type(); !is_fp8(to) && !is_int8(to) && !is_narrowing(expr)) return std::nullopt;
  const TensorIndex source = rounding.inputs[0];
  if (!source.exists() || std::count(rounding.inputs.begin(), rounding.inputs.end(), source) != 1 ||
      !(shapes_.at(source) == shapes_.at(rounding.outputs[0])))
    return std::nullopt;
  return scalars_after_first(rounding);
}

bool LowerContext::joins_norm(const Step& rounding) {
  const std::optional<std::vector<double>> constants = constants_of_rounding(rounding);
  if (!constants) return false;
  for (Step& norm : program().steps) {
    if (!norm.problem.is(Family::kNorm) || norm.outputs.size() != 1 || norm.outputs[0] != rounding.inputs[0]) continue;
    return take_in(rounding, *constants, true, &norm);
  }
  return false;
}

bool LowerContext::joins_attention(const Node& node, const Step& rounding) {
  const Value* const source = node.input(0);
  if (source == nullptr || source->producer() == nullptr || !source->producer()->is("Attention") ||
      source->uses().size() != 1 || graph_.is_output(source))
    return false;
  const std::optional<std::vector<double>> constants = constants_of_rounding(rounding);
  if (!constants) return false;
  for (Step& attention : program().steps) {
    if (!attention.problem.is(Family::kAttention) || attention.outputs.size() != 1 ||
        attention.outputs[0] != rounding.inputs[0])
      continue;
    return take_in(rounding, *constants, false, &attention);
  }
  return false;
}

// The rounding as part of the step, whose own result stays one where it `keeps` that.
bool LowerContext::take_in(const Step& rounding, const std::vector<double>& constants, bool keeps, Step* step) {
  Step both = *step;
  PointwiseExpr& e = both.problem.epilogue;
  if (e.empty()) e.outputs = {e.input(0, both.problem.acc_dtype)};
  e = with_rounding(e, rounding.problem.epilogue, constants);
  both.outputs.push_back(rounding.outputs[0]);
  if (!keeps) {
    e.outputs.erase(e.outputs.begin());
    both.outputs.erase(both.outputs.begin());
  }
  both.provenance.insert(both.provenance.end(), rounding.provenance.begin(), rounding.provenance.end());
  describe_operands(&both);
  if (!offered(both)) return false;
  *step = std::move(both);
  return true;
}

}  // namespace wootz
