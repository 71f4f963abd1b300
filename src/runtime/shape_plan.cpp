#include "runtime/shape_plan.h"

#include <algorithm>
#include <numeric>

#include "backend/plugin.h"
#include "runtime/liveness.h"

namespace wootz {
namespace {

constexpr size_t kAlign = 64;
size_t align_up(size_t v) { return (v + kAlign - 1) & ~(kAlign - 1); }

TensorIndex view_root(const Program& program, TensorIndex tensor) {
  while (program.tensors[tensor].kind == TensorKind::kView) tensor = program.tensors[tensor].view_of;
  return tensor;
}

// Extents of every tensor, checked: not negative, within limits. A view of something whose extents are not known yet
// counts as unknown itself: its bytes have no place before the run.
Status resolve_dims(const Program& program, ShapePlan* plan) {
  plan->dims.resize(program.tensors.size());
  plan->known.assign(program.tensors.size(), 0);
  for (const TensorIndex t : program.tensors.indices()) {
    const PlanTensor& tensor = program.tensors[t];
    const std::optional<Dims> dims = tensor_dims(tensor, plan->shapes);
    if (!dims) continue;
    if (Result<int64_t> volume = checked_volume(dims->span()); !volume.ok())
      return volume.status().with_prefix(fmt::format("tensor '{}' at the given input shapes", tensor.name));
    plan->dims[t] = *dims;
    plan->known[t] = 1;
  }
  for (const TensorIndex t : program.tensors.indices())
    if (program.tensors[t].kind == TensorKind::kView && !plan->known[view_root(program, t)]) plan->known[t] = 0;
  return Status();
}

void find_open(const Program& program, ShapePlan* plan) {
  const IndexedVector<ExpressionIndex, uint8_t>& known = plan->shapes.known;
  for (const ExpressionIndex e : known.indices())
    if (!known[e]) plan->open_exprs.push_back(e);
  for (const TensorIndex t : program.tensors.indices()) {
    const std::vector<ExpressionIndex>& values = program.tensors[t].values;
    if (std::any_of(values.begin(), values.end(), [&](ExpressionIndex e) { return !known[e]; }))
      plan->open_shape_tensors.push_back(t);
  }
}

// Steps with an operand or result of unknown extents, and what else is known only while running.
void find_dynamic(const Program& program, ShapePlan* plan) {
  const auto unknown = [&](TensorIndex t) { return t.exists() && !plan->known[t]; };
  for (const Step& step : program.steps) {
    plan->dynamic.push_back(std::any_of(step.inputs.begin(), step.inputs.end(), unknown) ||
                            std::any_of(step.outputs.begin(), step.outputs.end(), unknown));
    plan->any_dynamic = plan->any_dynamic || plan->dynamic.back();
  }
  if (plan->any_dynamic) find_open(program, plan);
}

Status bind_step(const Program& program, const Step& step, const Kernel& kernel, const ShapePlan& plan,
                 std::unique_ptr<Call>* call) {
  std::vector<Dims> in, out;
  std::vector<const void*> constants;
  std::vector<size_t> constant_bytes;
  for (const TensorIndex t : step.inputs) {
    in.push_back(!t.exists() ? Dims{} : plan.dims[t]);
    const PlanTensor* tensor = !t.exists() ? nullptr : &program.tensors[t];
    const PlanConstant* constant =
        tensor != nullptr && tensor->kind == TensorKind::kConstant ? &program.constants[tensor->constant] : nullptr;
    constants.push_back(constant != nullptr ? constant->data : nullptr);
    constant_bytes.push_back(constant != nullptr ? constant->bytes : 0);
  }
  for (const TensorIndex t : step.outputs) out.push_back(!t.exists() ? Dims{} : plan.dims[t]);
  Result<std::unique_ptr<Call>> bound = kernel.bind({in, out, constants, constant_bytes});
  if (!bound.ok()) return bound.status().at(PlaceKind::kLayer, step.name, fmt::format("({})", step.tactic.to_string()));
  *call = std::move(bound).value();
  return Status();
}

// Calls of all steps whose extents are known, and by step the scratch memory it needs.
Status bind_steps(const Program& program, const StepKernels& kernels, bool with_calls, ShapePlan* plan,
                  IndexedVector<StepIndex, size_t>* workspace) {
  plan->calls.resize(program.steps.size());
  bool recordable = true, surely = true;
  for (const StepIndex s : program.steps.indices()) {
    workspace->push_back(program.steps[s].workspace);
    if (!plan->dynamic[s] && with_calls) {
      WOOTZ_RETURN_IF_ERROR(bind_step(program, program.steps[s], *kernels[s], *plan, &plan->calls[s]));
      workspace->back() = plan->calls[s]->workspace();
    }
    recordable = recordable && !plan->dynamic[s] && (!with_calls || plan->calls[s]->recordable());
    plan->recordable_steps += recordable ? 1 : 0;
    surely =
        surely && recordable && !(with_calls && dynamic_cast<const StatefulCall*>(plan->calls[s].get()) != nullptr);
    plan->surely_recordable += surely ? 1 : 0;
  }
  return Status();
}

StepStreams step_streams(const Program& program) {
  StepStreams streams;
  for (const Step& step : program.steps) streams.push_back(step.stream);
  return streams;
}

// Scratch memory of steps that run concurrently is not shared.
void place_workspaces(const IndexedVector<StepIndex, size_t>& needed, ShapePlan* plan) {
  plan->workspace_at.assign(plan->order.streams, 0);
  std::vector<size_t> most(plan->order.streams, 0);
  for (const StepIndex s : needed.indices()) {
    size_t& bytes = most[plan->order.streams == 1 ? 0 : plan->order.stream[s]];
    bytes = std::max(bytes, needed[s]);
  }
  for (size_t k = 0; k < most.size(); ++k) {
    plan->workspace_at[k] = plan->workspace_bytes;
    plan->workspace_bytes += align_up(most[k]);
  }
}

void fill_report(const Program& program, const ShapePlan& plan, const Liveness& liveness,
                 const std::vector<ArenaBuffer>& arena, const MemoryPlan& memory, MemoryReport* report) {
  report->persistent += constant_bytes(program);
  report->lower_bound = plan.activation_lower_bound;
  report->arena = plan.arena_bytes;
  report->workspace = plan.workspace_bytes;
  for (const Step& step : program.steps) {
    for (const TensorIndex t : step.outputs) {
      if (!t.exists() || !plan.known[t]) continue;
      if (program.tensors[liveness.storage.root[t]].kind == TensorKind::kIntermediate)
        report->activations += tensor_bytes(program.tensors[t], plan.dims[t]);
    }
  }
  report->alive.assign(program.steps.size(), 0);
  for (size_t b = 0; b < arena.size(); ++b) {
    const BufferLife& life = arena[b].life;
    report->buffers.push_back({program.tensors[arena[b].tensor].name, life, memory.offsets[b]});
    report->alive[life.first] += align_up(life.bytes);
    if (const StepIndex after = life.last.next(); report->alive.has(after))
      report->alive[after] -= align_up(life.bytes);
  }
  std::partial_sum(report->alive.begin(), report->alive.end(), report->alive.begin());
  std::stable_sort(report->buffers.begin(), report->buffers.end(),
                   [](const auto& a, const auto& b) { return a.life.first < b.life.first; });
}

// By tensor its number in the list; -1: it is not there.
IndexedVector<TensorIndex, int32_t> io_numbers(const Program& program, const std::vector<IoTensor>& list) {
  IndexedVector<TensorIndex, int32_t> numbers(program.tensors.size(), -1);
  for (size_t i = 0; i < list.size(); ++i) numbers[list[i].tensor] = static_cast<int32_t>(i);
  return numbers;
}

// Where every tensor is. `at`: by tensor that is the root of a piece of the arena, its offset there; otherwise
// SIZE_MAX.
void locate(const Program& program, const Storage& storage, const IndexedVector<TensorIndex, size_t>& at,
            ShapePlan* plan) {
  const IndexedVector<TensorIndex, int32_t> inputs = io_numbers(program, program.inputs),
                                            outputs = io_numbers(program, program.outputs);
  plan->locations.resize(program.tensors.size());
  for (const TensorIndex t : program.tensors.indices()) {
    const TensorIndex root = storage.root[t];
    const size_t offset = storage.offset[t];
    Location& where = plan->locations[t];
    switch (program.tensors[root].kind) {
      case TensorKind::kInput: where = {Place::kInput, inputs[root], offset}; break;
      case TensorKind::kOutput: where = {Place::kOutput, outputs[root], offset}; break;
      case TensorKind::kConstant: where = {Place::kConstant, program.tensors[root].constant.number(), offset}; break;
      case TensorKind::kShape:
        if (root == t) {
          where = {Place::kShape, -1, plan->shape_bytes};
          plan->shape_bytes += align_up(program.tensors[root].values.size() * sizeof(int64_t) + 1);
        }
        break;
      default:
        if (at[root] != SIZE_MAX)
          where = {Place::kArena, -1, at[root] + offset};
        else
          where = {Place::kDynamic, root.number(), offset};
    }
  }
  for (const TensorIndex t : program.tensors.indices()) {  // views of shape tensors, once those have their place
    const TensorIndex root = storage.root[t];
    if (root == t || program.tensors[root].kind != TensorKind::kShape) continue;
    plan->locations[t] = plan->locations[root];
    plan->locations[t].offset += storage.offset[t];
  }
}

// Plans the arena and places every tensor.
void place_tensors(const Program& program, const Liveness& liveness, ShapePlan* plan, MemoryReport* report) {
  const std::vector<ArenaBuffer> arena = arena_buffers(program, liveness, plan->known);
  std::vector<BufferLife> buffers;
  for (const ArenaBuffer& b : arena) buffers.push_back(b.life);
  const MemoryPlan memory = plan_memory(buffers, kAlign);
  plan->arena_bytes = memory.arena_bytes;
  plan->activation_lower_bound = memory.lower_bound;
  if (report != nullptr) fill_report(program, *plan, liveness, arena, memory, report);
  IndexedVector<TensorIndex, size_t> at(program.tensors.size(), SIZE_MAX);
  for (size_t b = 0; b < arena.size(); ++b) at[arena[b].tensor] = memory.offsets[b];
  locate(program, liveness.storage, at, plan);
}

}  // namespace

Result<std::shared_ptr<ShapePlan>> make_shape_plan(const Program& program, const std::vector<int64_t>& symbols,
                                                   const StepKernels& kernels, bool with_calls, MemoryReport* report) {
  auto plan = std::make_shared<ShapePlan>();
  plan->symbols = symbols;
  WOOTZ_RETURN_IF_ERROR(evaluate_shapes(program, symbols, &plan->shapes));
  if (with_calls) WOOTZ_RETURN_IF_ERROR(check_shapes(program, plan->shapes));
  WOOTZ_RETURN_IF_ERROR(resolve_dims(program, plan.get()));
  find_dynamic(program, plan.get());
  IndexedVector<StepIndex, size_t> workspace;
  WOOTZ_RETURN_IF_ERROR(bind_steps(program, kernels, with_calls, plan.get(), &workspace));
  WOOTZ_ASSIGN_OR_RETURN(Storage storage, find_storage(program, plan->shapes, plan->dims, plan->known, with_calls));
  if (plan->recordable_steps == program.steps.size())
    plan->order = order_streams(step_streams(program), step_needs(program, storage));
  place_workspaces(workspace, plan.get());
  const Liveness liveness = find_liveness(program, std::move(storage), kernels, plan->dynamic, plan->order);
  place_tensors(program, liveness, plan.get(), report);
  return plan;
}

Result<MemoryReport> report_memory(const Program& program, size_t profile, const StepKernels& kernels) {
  if (profile >= program.profiles.size()) return invalid_argument("profile {} of {}", profile, program.profiles.size());
  std::vector<int64_t> symbols;
  for (const SymbolRange& range : program.profiles[profile].symbols) symbols.push_back(range.max);
  return report_memory(program, symbols, kernels);
}

Result<MemoryReport> report_memory(const Program& program, const std::vector<int64_t>& symbols,
                                   const StepKernels& kernels) {
  MemoryReport report;
  report.estimated = kernels.empty() && !program.steps.empty();
  WOOTZ_RETURN_IF_ERROR(make_shape_plan(program, symbols, kernels, false, &report).status());
  return report;
}

}  // namespace wootz
