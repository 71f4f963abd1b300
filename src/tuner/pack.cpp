// Constants in the form that the chosen kernels want them.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "backend/kernel_cache.h"
#include "base/tensor.h"
#include "tuner/choose.h"
#include "tuner/relayout.h"

namespace wootz {
namespace {

void drop_unused(Program* program) {
  std::vector<uint8_t> used(program->constants.size(), 0);
  std::vector<uint8_t> live(program->tensors.size(), 0);
  for (const Step& step : program->steps)
    for (int32_t t : step.inputs)
      if (t >= 0) live[static_cast<size_t>(t)] = 1;
  for (const PlanTensor& t : program->tensors)
    if (t.kind == TensorKind::kView) live[static_cast<size_t>(t.view_of)] = 1;
  for (size_t t = 0; t < program->tensors.size(); ++t)
    if (program->tensors[t].kind == TensorKind::kConstant && live[t])
      used[static_cast<size_t>(program->tensors[t].constant)] = 1;
  std::vector<PlanConstant> kept;
  std::vector<int32_t> index(program->constants.size(), -1);
  for (size_t c = 0; c < program->constants.size(); ++c) {
    if (!used[c]) continue;
    index[c] = static_cast<int32_t>(kept.size());
    kept.push_back(std::move(program->constants[c]));
  }
  program->constants = std::move(kept);
  // Tensors keep their numbers. One that lost its constant becomes an intermediate of no extent that nothing touches.
  for (PlanTensor& t : program->tensors) {
    if (t.kind != TensorKind::kConstant) continue;
    t.constant = index[static_cast<size_t>(t.constant)];
    if (t.constant < 0) t.kind = TensorKind::kIntermediate;
  }
}

}  // namespace

Status pack_constants(Program* program, const std::vector<const Provider*>& providers, const Limits& limits) {
  KernelCache kernels(providers, limits);
  for (Step& step : program->steps) {
    bool any = false;
    for (size_t i = 0; i < step.inputs.size(); ++i)
      any = any || (step.inputs[i] >= 0 && step.problem.inputs[i].constant);
    if (!any) continue;
    WOOTZ_ASSIGN_OR_RETURN(const std::shared_ptr<const Kernel> kernel, kernels.get(step));
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      if (step.inputs[i] < 0 || !step.problem.inputs[i].constant) continue;
      const PlanTensor tensor = program->tensors[static_cast<size_t>(step.inputs[i])];
      if (tensor.kind != TensorKind::kConstant) continue;
      const PlanConstant source = program->constants[static_cast<size_t>(tensor.constant)];
      if (source.layout != Layout::kLinear) continue;
      const HostTensor plain = HostTensor::wrap(source.dtype, source.dims, source.data, source.owner);
      Result<std::optional<std::vector<std::byte>>> packed = kernel->pack(static_cast<int>(i), plain);
      if (!packed.ok())
        return packed.status().with_prefix(fmt::format("layer '{}': packing '{}'", step.name, source.name));
      PlanConstant made = source;
      if (packed->has_value()) {
        // Aligned, as in a plan: AMX tiles from elsewhere take twice as long.
        const auto count = static_cast<int64_t>((*packed)->size());
        WOOTZ_ASSIGN_OR_RETURN(HostTensor aligned, HostTensor::allocate(DType::kU8, {count}));
        std::copy_n((*packed)->data(), (*packed)->size(), static_cast<std::byte*>(aligned.mutable_data()));
        const auto keep = std::make_shared<HostTensor>(std::move(aligned));
        made.layout = Layout::kOpaque;
        made.bytes = keep->bytes();
        made.data = keep->data();
        made.owner = keep;
        step.problem.inputs[i].layout = Layout::kOpaque;
      } else if (step.problem.inputs[i].layout != Layout::kLinear && source.dims.rank() >= 3 &&
                 step.problem.inputs[i].layout != Layout::kOpaque) {
        WOOTZ_ASSIGN_OR_RETURN(const HostTensor moved, to_layout(plain, step.problem.inputs[i].layout));
        const auto keep = std::make_shared<HostTensor>(moved);
        made.layout = step.problem.inputs[i].layout;
        made.bytes = keep->bytes();
        made.data = keep->data();
        made.owner = keep;
      } else {
        continue;
      }
      PlanTensor own = tensor;
      own.layout = made.layout;
      own.constant = static_cast<int32_t>(program->constants.size());
      program->constants.push_back(std::move(made));
      step.inputs[i] = static_cast<int32_t>(program->tensors.size());
      program->tensors.push_back(std::move(own));
    }
  }
  drop_unused(program);
  return Status();
}

}  // namespace wootz
