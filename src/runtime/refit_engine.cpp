#include "runtime/refit_engine.h"

#include <algorithm>
#include <set>

#include "backend/control.h"
#include "backend/kernel_cache.h"
#include "base/thread_pool.h"
#include "plan/verify.h"

namespace wootz {
namespace {

// Steps whose kernels may have looked at constants that change: kernels of the host read them when they are bound.
std::set<size_t> steps_bound_to(const Program& program, const EngineUpdate& update, bool on_host) {
  std::set<ConstantIndex> changed;
  for (const auto& [index, constant] : update.constants) changed.insert(index);
  const auto reads = [&](TensorIndex t) {
    if (!t.exists()) return false;
    const PlanTensor& tensor = program.tensors[t];
    return tensor.kind == TensorKind::kConstant && changed.count(tensor.constant) != 0;
  };
  std::set<size_t> steps;
  for (size_t s = 0; s < program.steps.size(); ++s) {
    const Step& step = program.steps[s];
    if (!on_host && step.tactic.provider != "host") continue;
    if (!is_control(step) && std::any_of(step.inputs.begin(), step.inputs.end(), reads)) steps.insert(s);
  }
  return steps;
}

Program updated(const Program& program, const EngineUpdate& update) {
  Program changed = program;
  for (const auto& [number, constant] : update.constants) changed.constants[number] = constant;
  for (const auto& [number, problem] : update.steps) changed.steps[number].problem = problem;
  changed.refit = update.recipe;
  return changed;
}

}  // namespace

Status refit_engine(EngineCore& engine, EngineUpdate update, std::vector<const Provider*> providers, Stream* stream) {
  const Program program = updated(engine.program(), update);
  WOOTZ_RETURN_IF_ERROR(verify_program(program));
  const ParallelScope threads(engine.options().threads);
  const DeviceScope current(engine.device());
  Limits limits;
  limits.threads = engine.options().threads;
  limits.at = engine.device_ptr();
  KernelCache kernels(std::move(providers), limits);
  std::set<size_t> steps = steps_bound_to(program, update, engine.device().host_memory());
  for (const auto& [number, problem] : update.steps) {
    if (is_control(program.steps[number]))
      return unsupported("a control step cannot change").at(PlaceKind::kLayer, program.steps[number].name);
    steps.insert(number);
  }
  EngineCore::NewKernels made;
  for (const size_t s : steps) {
    WOOTZ_ASSIGN_OR_RETURN(std::shared_ptr<const Kernel> kernel, kernels.get(program.steps[s]));
    made.emplace_back(s, std::move(kernel));
  }
  return engine.update(std::move(update), std::move(made), stream);
}

}  // namespace wootz
