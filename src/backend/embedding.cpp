#include "backend/embedding.h"

#include <algorithm>

namespace wootz {
namespace {

bool gathers_rows(const Step& step) {
  const auto* gather = step.problem.as_if<GatherParams>();
  return gather != nullptr && gather->kind == GatherKind::kGather && gather->axis == 0 && gather->batch_dims == 0 &&
         step.problem.num_main == 2 && step.inputs.size() == step.problem.inputs.size() && step.inputs.size() >= 2 &&
         step.outputs.size() == 1 && step.problem.inputs[0].dims.rank() == 2;
}

bool normalizes_lines(const Step& step, TensorIndex lines) {
  const auto* norm = step.problem.as_if<NormParams>();
  return norm != nullptr && (norm->kind == NormKind::kLayer || norm->kind == NormKind::kRms) &&
         step.outputs.size() == 1 && !step.inputs.empty() && step.inputs[0] == lines &&
         step.inputs.size() == step.problem.inputs.size() && norm->axis == step.problem.inputs[0].dims.rank() - 1;
}

void add_inputs(const Step& from, size_t begin, size_t end, Step* to) {
  to->inputs.insert(to->inputs.end(), from.inputs.begin() + static_cast<ptrdiff_t>(begin),
                    from.inputs.begin() + static_cast<ptrdiff_t>(end));
  to->problem.inputs.insert(to->problem.inputs.end(), from.problem.inputs.begin() + static_cast<ptrdiff_t>(begin),
                            from.problem.inputs.begin() + static_cast<ptrdiff_t>(end));
}

// The last gather's expression on the rows of all tables and on what is added to them; the inputs that go with it.
std::optional<PointwiseExpr> sum_of(std::span<const Step> gathers, Step* to) {
  const Step& last = gathers.back();
  PointwiseExpr sum = last.problem.epilogue;
  add_inputs(last, 0, 2, to);
  if (sum.empty()) return gathers.size() == 1 ? std::optional(std::move(sum)) : std::nullopt;
  std::vector<uint16_t> number(last.inputs.size() - 1, 0);  // by operand: the row is 0, as before
  uint16_t tables = 1;
  std::vector<bool> made(last.inputs.size(), false);
  for (const Step& gather : gathers.first(gathers.size() - 1)) {
    const auto read = std::find(last.inputs.begin() + 2, last.inputs.end(), gather.outputs[0]);
    if (read == last.inputs.end() || !gather.problem.epilogue.empty()) return std::nullopt;
    const auto at = static_cast<size_t>(read - last.inputs.begin());
    number[at - 1] = tables++;
    made[at] = true;
    add_inputs(gather, 0, 2, to);
  }
  uint16_t next = tables;
  for (size_t i = 2; i < last.inputs.size(); ++i) {
    if (made[i]) continue;
    number[i - 1] = next++;
    add_inputs(last, i, i + 1, to);
  }
  for (PwInstr& in : sum.code)
    if (in.op == PwOp::kInput) {
      if (in.a >= number.size()) return std::nullopt;
      in.a = number[in.a];
    }
  sum.num_inputs = next;
  return sum;
}

}  // namespace

std::optional<Step> make_embedding(std::span<const Step> steps) {
  if (steps.size() < 2 || !std::all_of(steps.begin(), steps.end() - 1, gathers_rows)) return std::nullopt;
  const std::span<const Step> gathers = steps.first(steps.size() - 1);
  const Step& norm = steps.back();
  if (!normalizes_lines(norm, gathers.back().outputs[0])) return std::nullopt;
  Step made;
  const auto& params = norm.problem.as<NormParams>();
  made.problem.params = EmbeddingParams{.tables = static_cast<int64_t>(gathers.size()),
                                        .sum = {},
                                        .centered = params.kind == NormKind::kLayer,
                                        .epsilon = params.epsilon,
                                        .has_scale = params.has_scale,
                                        .has_bias = params.has_bias};
  std::optional<PointwiseExpr> sum = sum_of(gathers, &made);
  if (!sum) return std::nullopt;
  made.problem.as<EmbeddingParams>().sum = std::move(*sum);
  const auto main = static_cast<size_t>(norm.problem.num_main);
  add_inputs(norm, 1, main, &made);
  made.problem.num_main = static_cast<int>(made.inputs.size());
  add_inputs(norm, main, norm.inputs.size(), &made);
  made.problem.passing = std::any_of(steps.begin(), steps.end(), [](const Step& s) { return s.problem.passing; });
  made.problem.outputs = norm.problem.outputs;
  made.problem.epilogue = norm.problem.epilogue;
  made.problem.acc_dtype = norm.problem.acc_dtype;
  made.outputs = norm.outputs;
  return made;
}

Result<EmbeddingOperands> embedding_operands(const Problem& p) {
  const auto& params = p.as<EmbeddingParams>();
  EmbeddingOperands operands;
  operands.tables = static_cast<int>(params.tables);
  if (params.tables < 1 || params.tables > 4) return invalid_argument("embedding: {} tables", params.tables);
  if (params.sum.empty() ? operands.tables != 1 : params.sum.num_inputs < operands.tables)
    return invalid_argument("embedding: a sum of {} operands for {} tables", params.sum.num_inputs, operands.tables);
  if (!params.sum.empty()) WOOTZ_RETURN_IF_ERROR(params.sum.verify());
  if (params.sum.outputs.size() > 1) return invalid_argument("embedding: {} sums", params.sum.outputs.size());
  if (params.has_bias && !params.has_scale) return unsupported("embedding: a bias without a scale");
  operands.added = params.sum.empty() ? 0 : params.sum.num_inputs - operands.tables;
  int next = operands.first_added() + operands.added;
  if (params.has_scale) operands.scale = next++;
  if (params.has_bias) operands.bias = next++;
  if (p.num_main != next || static_cast<size_t>(next) > p.inputs.size() || p.outputs.size() != 1)
    return invalid_argument("embedding: {} operands and {} results", p.num_main, p.outputs.size());
  return operands;
}

}  // namespace wootz
