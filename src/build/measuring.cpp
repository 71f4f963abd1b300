#include "build/measuring.h"

#include <algorithm>
#include <map>

#include "backend/concurrent.h"
#include "ops/interpreter.h"

namespace wootz {

ConstantFunction constants_of(const Program& program) {
  return [&program](StepIndex step, size_t input) -> Result<HostTensor> {
    if (!program.steps.has(step) || input >= program.steps[step].inputs.size())
      return internal_error("no input {} of step {}", input, step);
    const TensorIndex t = program.steps[step].inputs[input];
    const PlanTensor* tensor = !t.exists() ? nullptr : &program.tensors[t];
    if (tensor == nullptr || tensor->kind != TensorKind::kConstant)
      return internal_error("input {} of step {} is no constant", input, step);
    const PlanConstant& constant = program.constants[tensor->constant];
    return HostTensor::wrap(constant.dtype, constant.dims, constant.data, constant.owner);
  };
}

namespace {

bool same_operands(const Program& program, const Step& step, const Node& node) {
  const auto same = [&](const std::vector<TensorIndex>& tensors, const std::vector<Value*>& values) {
    if (tensors.size() != values.size()) return false;
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].exists() == (values[i] == nullptr)) return false;
      if (tensors[i].exists() && program.tensors[tensors[i]].name != values[i]->name()) return false;
    }
    return true;
  };
  return same(step.inputs, node.inputs()) && same(step.outputs, node.outputs());
}

}  // namespace

ReferenceFunction reference_of(const Lowered& lowered) {
  std::map<const Node*, int> steps_of;
  for (const Node* node : lowered.nodes) ++steps_of[node];
  IndexedVector<StepIndex, const Node*> nodes(lowered.nodes.size(), nullptr);
  for (const StepIndex s : nodes.indices()) {
    if (!lowered.program.steps.has(s)) break;
    const Node* node = lowered.nodes[s];
    if (node != nullptr && steps_of[node] == 1 && same_operands(lowered.program, lowered.program.steps[s], *node))
      nodes[s] = node;
  }
  return [nodes = std::move(nodes)](StepIndex step,
                                    const std::vector<HostTensor>& inputs) -> Result<std::vector<HostTensor>> {
    if (!nodes.has(step) || nodes[step] == nullptr) return unsupported("step {} is not a node by itself", step);
    std::vector<const HostTensor*> operands;
    for (const HostTensor& input : inputs) operands.push_back(input.valid() ? &input : nullptr);
    return run_node(*nodes[step], operands);
  };
}

SamplingOptions sampling_for(int level, int iterations) {
  SamplingOptions sampling;
  if (level <= 1) {
    sampling.batch_us = 200;
    sampling.total_us = 5'000;
    sampling.min_batches = 3;
    sampling.max_batches = 7;
  } else if (level == 2) {
    sampling.total_us = 15'000;
  } else if (level >= 4) {
    sampling.total_us = 100'000;
    sampling.max_batches = 50;
    sampling.good_spread = 0.01;
  }
  sampling.min_batches = std::clamp(iterations, sampling.min_batches, 1000);
  sampling.max_batches = std::max(sampling.max_batches, sampling.min_batches);
  return sampling;
}

Status measure_alone(BuildContext& context, FunctionRef<bool()> go_on) {
  const auto* const device = dynamic_cast<const LockedDevice*>(context.target.device.get());
  if (device == nullptr || context.asked_alone) return Status();
  context.asked_alone = true;  // once: who went on without the lock does not wait again
  bool going = true;
  const auto tell = [&](DeviceLock::News news) {
    const std::string& name = context.target.description.name;
    if (news == DeviceLock::News::kWaits)
      context.log.info(fmt::format("another build measures on {}: this one waits until it is done", name));
    else
      context.log.warning(
          fmt::format("another build still holds {} for its measurements: this one measures beside it", name));
  };
  context.alone = DeviceLock::take(device->lock_name(), tell, [&] { return going = go_on(); });
  return going ? Status() : make_error(Code::kCancelled, "cancelled while another build measured");
}

}  // namespace wootz
