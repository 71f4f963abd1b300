#include "build/measuring.h"

#include <algorithm>
#include <map>

#include "backend/concurrent.h"
#include "backend/siblings.h"
#include "ops/interpreter.h"
#include "tuner/measure/windows.h"

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

// `first`: of a step's operands, as many are a node's.
bool same_operands(const Program& program, const Step& step, const Node& node, size_t first) {
  const auto same = [&](std::span<const TensorIndex> tensors, const std::vector<Value*>& values) {
    if (tensors.size() > values.size()) return false;
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].exists() == (values[i] == nullptr)) return false;
      if (tensors[i].exists() && program.tensors[tensors[i]].name != values[i]->name()) return false;
    }
    return true;
  };
  return same(std::span(step.inputs).first(first), node.inputs()) && step.outputs.size() == node.outputs().size() &&
         same(step.outputs, node.outputs());
}

// Operands of a step that are its node's; the others, where there are any, are siblings' constants.
size_t operands_of_node(const Step& step, const Node& node) {
  if (!step.problem.is(Family::kSiblings)) return step.inputs.size() == node.inputs().size() ? step.inputs.size() : 0;
  const Result<Problem> joint = joint_of(step.problem);
  return joint.ok() ? sibling_axes(*joint)->shared : 0;
}

// Of siblings: their node has the constants of each by itself, where the step has them one after the other.
Result<std::vector<HostTensor>> with_own_constants(const Node& node, const SiblingAxes& axes,
                                                   std::vector<HostTensor> operands) {
  const size_t shared = axes.shared;
  const std::vector<HostTensor> stacked(operands.begin() + static_cast<ptrdiff_t>(shared), operands.end());
  std::vector<int64_t> done(stacked.size(), 0);
  operands.resize(shared);
  for (size_t i = shared; i < node.inputs().size(); ++i) {
    const size_t from = (i - shared) % stacked.size(), axis = axes.inputs[from];
    const Dims& extents = node.inputs()[i]->constant().dims();
    Dims at = Dims::filled(extents.rank(), 0);
    at[axis] = std::exchange(done[from], done[from] + extents[axis]);
    WOOTZ_ASSIGN_OR_RETURN(HostTensor part, part_of(stacked[from], at, extents));
    operands.push_back(std::move(part));
  }
  return operands;
}

}  // namespace

ReferenceFunction reference_of(const Lowered& lowered) {
  std::map<const Node*, int> steps_of;
  for (const Node* node : lowered.nodes) ++steps_of[node];
  IndexedVector<StepIndex, const Node*> nodes(lowered.nodes.size(), nullptr);
  std::map<StepIndex, SiblingAxes> siblings;
  for (const StepIndex s : nodes.indices()) {
    if (!lowered.program.steps.has(s)) break;
    const Node* node = lowered.nodes[s];
    const Step& step = lowered.program.steps[s];
    const size_t own = node == nullptr ? 0 : operands_of_node(step, *node);
    if (own == 0 && !step.inputs.empty()) continue;
    if (node == nullptr || steps_of[node] != 1 || !same_operands(lowered.program, step, *node, own)) continue;
    nodes[s] = node;
    if (own != step.inputs.size() || own != node->inputs().size())
      siblings[s] = *sibling_axes(joint_of(step.problem).value());
  }
  return [nodes = std::move(nodes), siblings = std::move(siblings)](
             StepIndex step, const std::vector<HostTensor>& inputs) -> Result<std::vector<HostTensor>> {
    if (!nodes.has(step) || nodes[step] == nullptr) return unsupported("step {} is not a node by itself", step);
    std::vector<HostTensor> own = inputs;
    if (const auto found = siblings.find(step); found != siblings.end()) {
      WOOTZ_ASSIGN_OR_RETURN(own, with_own_constants(*nodes[step], found->second, inputs));
    }
    std::vector<const HostTensor*> operands;
    for (const HostTensor& input : own) operands.push_back(input.valid() ? &input : nullptr);
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
