#include "lower/concats.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace wootz {
namespace {

const MoveParams* plain_move(const Step& step, MoveKind kind) {
  const auto* move = step.problem.as_if<MoveParams>();
  const bool fits = move != nullptr && move->kind == kind && step.problem.epilogue.empty() && step.outputs.size() == 1;
  return fits ? move : nullptr;
}

bool is_cast(const Step& step) {
  const PointwiseExpr& e = step.problem.epilogue;
  return step.problem.is(Family::kPointwise) && step.inputs.size() == 1 && step.outputs.size() == 1 &&
         e.code.size() == 2 && e.code[0].op == PwOp::kInput && e.code[1].op == PwOp::kCast && e.outputs.size() == 1 &&
         e.outputs[0] == 1;
}

class Joining {
 public:
  explicit Joining(std::span<const Step> steps) {
    for (const Step& step : steps)
      if (step.outputs.size() == 1) makers_[step.outputs[0]] = &step;
  }

  bool add_result(TensorIndex result) {
    const auto maker = makers_.find(result);
    const MoveParams* const move = maker == makers_.end() ? nullptr : plain_move(*maker->second, MoveKind::kConcat);
    if (move == nullptr || (taken_ > 0 && move->axis != params_.axis)) return false;
    const Step& concat = *maker->second;
    ++taken_;
    params_.axis = move->axis;
    params_.counts.push_back(static_cast<int64_t>(concat.inputs.size()));
    made_.problem.passing = made_.problem.passing || concat.problem.passing;
    made_.outputs.push_back(result);
    made_.problem.outputs.push_back(concat.problem.outputs[0]);
    for (size_t i = 0; i < concat.inputs.size(); ++i)
      if (!add_part(concat, i)) return false;
    return true;
  }

  // Empty: some step is none of these.
  std::optional<Step> take(size_t steps) {
    if (taken_ != steps) return std::nullopt;
    if (!transposes_) params_.perms.clear();
    made_.problem.params = params_;
    made_.problem.num_main = static_cast<int>(made_.inputs.size());
    made_.problem.acc_dtype = made_.problem.outputs[0].dtype;
    return std::move(made_);
  }

 private:
  bool add_part(const Step& concat, size_t input) {
    TensorIndex at = concat.inputs[input];
    TensorDesc desc = concat.problem.inputs[input];
    const DType type = desc.dtype;
    Ints perm(desc.dims.size());
    std::iota(perm.begin(), perm.end(), 0);
    for (auto maker = makers_.find(at); maker != makers_.end(); maker = makers_.find(at)) {
      const Step& step = *maker->second;
      const MoveParams* const move = plain_move(step, MoveKind::kTranspose);
      if (move == nullptr && (!is_cast(step) || desc.dtype != type)) return false;  // cast once
      if (move != nullptr) {
        for (int64_t& a : perm) a = move->perm[static_cast<size_t>(a)];
        transposes_ = true;
      }
      made_.problem.passing = made_.problem.passing || step.problem.passing;
      at = step.inputs[0];
      desc = step.problem.inputs[0];
      ++taken_;
    }
    if (!is_model_float(type) || !is_model_float(desc.dtype)) return false;
    made_.inputs.push_back(at);
    made_.problem.inputs.push_back(desc);
    params_.perms.push_back(std::move(perm));
    return true;
  }

  std::unordered_map<TensorIndex, const Step*> makers_;
  ConcatsParams params_;
  Step made_;
  size_t taken_ = 0;
  bool transposes_ = false;
};

}  // namespace

std::optional<Step> concats_as_one(std::span<const Step> steps, std::span<const TensorIndex> results) {
  Joining joining(steps);
  for (const TensorIndex result : results)
    if (!joining.add_result(result)) return std::nullopt;
  return joining.take(steps.size());
}

}  // namespace wootz
