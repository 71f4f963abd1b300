#include "runtime/shape_plan.h"

#include <algorithm>

#include "plan/memory_planner.h"

namespace wootz {
namespace {

constexpr size_t kAlign = 64;
size_t align_up(size_t v) { return (v + kAlign - 1) & ~(kAlign - 1); }

int32_t view_root(const Program& program, int32_t tensor) {
  while (program.tensors[static_cast<size_t>(tensor)].kind == TensorKind::kView)
    tensor = program.tensors[static_cast<size_t>(tensor)].view_of;
  return tensor;
}

// Extents of every tensor, checked: not negative, within limits, views as large as what they view. A view of something
// whose extents are not known yet counts as unknown itself: its bytes have no place before the run.
// Where only sizes are asked for, at the far end of every range at once, views need not fit.
Status resolve_dims(const Program& program, bool exact, ShapePlan* plan) {
  plan->dims.resize(program.tensors.size());
  plan->known.assign(program.tensors.size(), 0);
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    const PlanTensor& tensor = program.tensors[t];
    const std::optional<Dims> dims = tensor_dims(tensor, plan->shapes);
    if (!dims) continue;
    if (Result<int64_t> volume = checked_volume(dims->span()); !volume.ok())
      return volume.status().with_prefix(fmt::format("tensor '{}' at the given input shapes", tensor.name));
    plan->dims[t] = *dims;
    plan->known[t] = 1;
  }
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    if (program.tensors[t].kind != TensorKind::kView || !plan->known[t]) continue;
    if (!plan->known[static_cast<size_t>(view_root(program, static_cast<int32_t>(t)))]) {
      plan->known[t] = 0;
      continue;
    }
    const auto source = static_cast<size_t>(program.tensors[t].view_of);
    if (exact && plan->known[source] && plan->dims[source].volume() != plan->dims[t].volume())
      return invalid_argument("'{}' of shape {} cannot be seen as '{}' of shape {}: {} against {} elements",
                              program.tensors[source].name, plan->dims[source].to_string(), program.tensors[t].name,
                              plan->dims[t].to_string(), plan->dims[source].volume(), plan->dims[t].volume());
  }
  return Status();
}

Status bind_step(const Program& program, const Step& step, const Kernel& kernel, const ShapePlan& plan,
                 std::unique_ptr<Call>* call) {
  std::vector<Dims> in, out;
  std::vector<const void*> constants;
  std::vector<size_t> constant_bytes;
  for (int32_t t : step.inputs) {
    in.push_back(t < 0 ? Dims{} : plan.dims[static_cast<size_t>(t)]);
    const PlanTensor* tensor = t < 0 ? nullptr : &program.tensors[static_cast<size_t>(t)];
    const PlanConstant* constant = tensor != nullptr && tensor->kind == TensorKind::kConstant
                                       ? &program.constants[static_cast<size_t>(tensor->constant)]
                                       : nullptr;
    constants.push_back(constant != nullptr ? constant->data : nullptr);
    constant_bytes.push_back(constant != nullptr ? constant->bytes : 0);
  }
  for (int32_t t : step.outputs) out.push_back(t < 0 ? Dims{} : plan.dims[static_cast<size_t>(t)]);
  Result<std::unique_ptr<Call>> bound = kernel.bind({in, out, constants, constant_bytes});
  if (!bound.ok())
    return bound.status().with_prefix(fmt::format("layer '{}' ({})", step.name, step.tactic.to_string()));
  *call = std::move(bound).value();
  return Status();
}

struct Lives {
  std::vector<int32_t> storage;  // tensor -> tensor whose buffer it uses
  std::vector<int> first, last;  // by storage tensor
};

Lives find_lives(const Program& program) {
  Lives lives;
  const size_t n = program.tensors.size();
  lives.storage.resize(n);
  lives.first.assign(n, -1);
  lives.last.assign(n, -1);
  for (size_t t = 0; t < n; ++t) lives.storage[t] = view_root(program, static_cast<int32_t>(t));
  for (size_t s = 0; s < program.steps.size(); ++s) {
    for (int32_t t : program.steps[s].inputs)
      if (t >= 0) lives.last[static_cast<size_t>(lives.storage[static_cast<size_t>(t)])] = static_cast<int>(s);
    for (int32_t t : program.steps[s].outputs) {
      if (t < 0) continue;
      const auto root = static_cast<size_t>(lives.storage[static_cast<size_t>(t)]);
      if (lives.first[root] < 0) lives.first[root] = static_cast<int>(s);
      lives.last[root] = std::max(lives.last[root], static_cast<int>(s));
    }
  }
  return lives;
}

// A step may write its result over an input that nobody reads afterwards.
void share_in_place(const Program& program, const std::vector<std::shared_ptr<const Kernel>>& kernels,
                    const ShapePlan& plan, Lives* lives) {
  const auto root_of = [&](int32_t t) { return lives->storage[static_cast<size_t>(t)]; };
  for (size_t s = 0; s < program.steps.size(); ++s) {
    const Step& step = program.steps[s];
    if (plan.late[s]) continue;
    for (size_t o = 0; o < step.outputs.size(); ++o) {
      const int32_t out = step.outputs[o];
      if (out < 0 || program.tensors[static_cast<size_t>(out)].kind != TensorKind::kIntermediate || root_of(out) != out)
        continue;
      const int i = kernels[s]->in_place(static_cast<int>(o));
      if (i < 0 || static_cast<size_t>(i) >= step.inputs.size() || step.inputs[static_cast<size_t>(i)] < 0) continue;
      const int32_t in = step.inputs[static_cast<size_t>(i)];
      const int32_t root = root_of(in);
      if (program.tensors[static_cast<size_t>(root)].kind != TensorKind::kIntermediate) continue;
      if (lives->last[static_cast<size_t>(root)] != static_cast<int>(s)) continue;
      if (!plan.known[static_cast<size_t>(in)] || !plan.known[static_cast<size_t>(root)]) continue;
      const size_t want = tensor_bytes(program.tensors[static_cast<size_t>(out)], plan.dims[static_cast<size_t>(out)]);
      const size_t have = tensor_bytes(program.tensors[static_cast<size_t>(in)], plan.dims[static_cast<size_t>(in)]);
      if (want != have) continue;
      const auto same_root = [&](int32_t t) { return t >= 0 && root_of(t) == root; };
      if (std::count_if(step.inputs.begin(), step.inputs.end(), same_root) != 1) continue;
      if (std::any_of(step.outputs.begin(), step.outputs.end(), same_root)) continue;
      // Everything that lived in `out` now lives in the input's buffer, for longer.
      const int last = lives->last[static_cast<size_t>(out)];
      for (int32_t& storage : lives->storage)
        if (storage == out) storage = root;
      lives->last[static_cast<size_t>(root)] = std::max(lives->last[static_cast<size_t>(root)], last);
    }
  }
}

}  // namespace

size_t tensor_bytes(const PlanTensor& tensor, const Dims& dims) {
  if (tensor.layout == Layout::kLinear) return dtype_bytes(tensor.dtype, dims.volume());
  return layout_bytes(tensor.layout, tensor.dtype, dims);
}

Result<std::shared_ptr<const ShapePlan>> make_shape_plan(const Program& program, const std::vector<int64_t>& symbols,
                                                         const std::vector<std::shared_ptr<const Kernel>>& kernels,
                                                         bool with_calls) {
  auto plan = std::make_shared<ShapePlan>();
  plan->symbols = symbols;
  WOOTZ_RETURN_IF_ERROR(evaluate_shapes(program, symbols, &plan->shapes));
  WOOTZ_RETURN_IF_ERROR(resolve_dims(program, with_calls, plan.get()));

  const size_t num_steps = program.steps.size();
  plan->late.assign(num_steps, 0);
  plan->calls.resize(num_steps);
  for (size_t s = 0; s < num_steps; ++s) {
    const Step& step = program.steps[s];
    const auto unknown = [&](int32_t t) { return t >= 0 && !plan->known[static_cast<size_t>(t)]; };
    plan->late[s] = std::any_of(step.inputs.begin(), step.inputs.end(), unknown) ||
                    std::any_of(step.outputs.begin(), step.outputs.end(), unknown);
    plan->any_late = plan->any_late || plan->late[s];
    if (plan->late[s]) {
      plan->workspace_bytes = std::max(plan->workspace_bytes, step.workspace);
      continue;
    }
    if (with_calls) {
      WOOTZ_RETURN_IF_ERROR(bind_step(program, step, *kernels[s], *plan, &plan->calls[s]));
      plan->workspace_bytes = std::max(plan->workspace_bytes, plan->calls[s]->workspace());
    } else {
      plan->workspace_bytes = std::max(plan->workspace_bytes, step.workspace);
    }
  }
  plan->workspace_bytes = align_up(plan->workspace_bytes);

  Lives lives = find_lives(program);
  if (!kernels.empty()) share_in_place(program, kernels, *plan, &lives);
  std::vector<BufferLife> buffers;
  std::vector<int32_t> buffer_of(program.tensors.size(), -1);
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    const PlanTensor& tensor = program.tensors[t];
    if (tensor.kind != TensorKind::kIntermediate || lives.storage[t] != static_cast<int32_t>(t)) continue;
    if (!plan->known[t] || lives.first[t] < 0) continue;
    buffer_of[t] = static_cast<int32_t>(buffers.size());
    buffers.push_back({tensor_bytes(tensor, plan->dims[t]), lives.first[t], std::max(lives.first[t], lives.last[t])});
  }
  const MemoryPlan memory = plan_memory(buffers, kAlign);
  plan->arena_bytes = memory.arena_bytes;
  plan->activation_lower_bound = memory.lower_bound;

  plan->locations.resize(program.tensors.size());
  std::vector<int32_t> input_number(program.tensors.size(), -1), output_number(program.tensors.size(), -1);
  for (size_t i = 0; i < program.inputs.size(); ++i)
    input_number[static_cast<size_t>(program.inputs[i].tensor)] = static_cast<int32_t>(i);
  for (size_t i = 0; i < program.outputs.size(); ++i)
    output_number[static_cast<size_t>(program.outputs[i].tensor)] = static_cast<int32_t>(i);
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    const auto root = static_cast<size_t>(lives.storage[t]);
    Location& where = plan->locations[t];
    switch (program.tensors[root].kind) {
      case TensorKind::kInput: where = {Place::kInput, input_number[root], 0}; break;
      case TensorKind::kOutput: where = {Place::kOutput, output_number[root], 0}; break;
      case TensorKind::kConstant: where = {Place::kConstant, program.tensors[root].constant, 0}; break;
      case TensorKind::kShape:
        if (root == t) {
          where = {Place::kShape, -1, plan->shape_bytes};
          plan->shape_bytes += align_up(program.tensors[root].values.size() * sizeof(int64_t) + 1);
        }
        break;
      default:
        if (buffer_of[root] >= 0)
          where = {Place::kArena, -1, memory.offsets[static_cast<size_t>(buffer_of[root])]};
        else
          where = {Place::kLate, static_cast<int32_t>(root), 0};
    }
  }
  for (size_t t = 0; t < program.tensors.size(); ++t) {  // views of shape tensors, once those have their place
    const auto root = static_cast<size_t>(lives.storage[t]);
    if (root != t && program.tensors[root].kind == TensorKind::kShape) plan->locations[t] = plan->locations[root];
  }
  return std::shared_ptr<const ShapePlan>(std::move(plan));
}

}  // namespace wootz
