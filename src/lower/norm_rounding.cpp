// A normalization whose result is also rounded to 8 bits, for the products that read it, gives both: the rounding would
// read the whole tensor again to make a quarter to a half of it.
#include <algorithm>

#include "base/fp8.h"
#include "lower/context.h"
#include "base/expressions.h"

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

bool LowerContext::joins_norm(const Step& rounding) {
  if (options_.providers.empty() || rounding.inputs.empty() || rounding.outputs.size() != 1 ||
      rounding.problem.epilogue.outputs.size() != 1)
    return false;
  if (const DType to = rounding.problem.epilogue.output_type(); !is_fp8(to) && !is_int8(to)) return false;
  const TensorIndex source = rounding.inputs[0];
  if (!source.exists() || std::count(rounding.inputs.begin(), rounding.inputs.end(), source) != 1 ||
      !(shapes_.at(source) == shapes_.at(rounding.outputs[0])))
    return false;
  const std::optional<std::vector<double>> constants = scalars_after_first(rounding);
  if (!constants) return false;
  for (Step& norm : program().steps) {
    if (!norm.problem.is(Family::kNorm) || norm.outputs.size() != 1 || norm.outputs[0] != source) continue;
    Step both = norm;
    PointwiseExpr& e = both.problem.epilogue;
    if (e.empty()) e.outputs = {e.input(0, both.problem.acc_dtype)};
    e = with_rounding(e, rounding.problem.epilogue, *constants);
    both.outputs.push_back(rounding.outputs[0]);
    both.provenance.insert(both.provenance.end(), rounding.provenance.begin(), rounding.provenance.end());
    describe_operands(&both);
    if (!offered(both)) return false;
    norm = std::move(both);
    return true;
  }
  return false;
}

}  // namespace wootz
