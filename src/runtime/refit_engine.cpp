#include "runtime/refit_engine.h"

#include <algorithm>
#include <set>

#include "backend/control.h"
#include "backend/kernel_cache.h"
#include "backend/plugin.h"
#include "base/thread_pool.h"
#include "plan/verify.h"

namespace wootz {
namespace {

// Steps whose kernels may have looked at constants that change: kernels of the host read them when they are bound.
std::set<StepIndex> steps_bound_to(const Program& program, const ProgramUpdate& update, bool on_host) {
  std::set<ConstantIndex> changed;
  for (const auto& [index, constant] : update.constants) changed.insert(index);
  const auto reads = [&](TensorIndex t) {
    if (!t.exists()) return false;
    const PlanTensor& tensor = program.tensors[t];
    return tensor.kind == TensorKind::kConstant && changed.count(tensor.constant) != 0;
  };
  std::set<StepIndex> steps;
  for (const StepIndex s : program.steps.indices()) {
    const Step& step = program.steps[s];
    if (!on_host && step.tactic.provider != "host") continue;
    if (is_plugin(step.problem)) continue;  // stays: it looks at its operands when it runs
    if (!is_control(step) && std::any_of(step.inputs.begin(), step.inputs.end(), reads)) steps.insert(s);
  }
  return steps;
}

// `program`: with the update.
Result<EngineCore::NewKernels> kernels_for(const Program& program, const ProgramUpdate& update, bool on_host,
                                           KernelCache& cache) {
  std::set<StepIndex> steps = steps_bound_to(program, update, on_host);
  for (const auto& [number, problem] : update.steps) {
    if (is_control(program.steps[number]))
      return unsupported("a control step cannot change").at(PlaceKind::kLayer, program.steps[number].name);
    if (is_plugin(program.steps[number].problem))
      return unsupported("a plugin cannot change").at(PlaceKind::kLayer, program.steps[number].name);
    steps.insert(number);
  }
  EngineCore::NewKernels made;
  for (const StepIndex s : steps) {
    WOOTZ_ASSIGN_OR_RETURN(std::shared_ptr<const Kernel> kernel, cache.get(program.steps[s]));
    made.steps.emplace_back(s, std::move(kernel));
  }
  for (size_t b = 0; b < update.bodies.size(); ++b) {
    WOOTZ_ASSIGN_OR_RETURN(made.bodies.emplace_back(),
                           kernels_for(program.bodies[b], update.bodies[b], on_host, cache));
  }
  return made;
}

}  // namespace

Status refit_engine(EngineCore& engine, ProgramUpdate update, std::vector<const Provider*> providers, Stream* stream) {
  Program program = engine.program();
  apply(update, &program);
  WOOTZ_RETURN_IF_ERROR(verify_program(program));
  const ParallelScope threads(engine.options().threads);
  const DeviceScope current(engine.device());
  Limits limits;
  limits.threads = engine.options().threads;
  limits.at = engine.device_ptr();
  KernelCache cache(std::move(providers), limits);
  WOOTZ_ASSIGN_OR_RETURN(EngineCore::NewKernels kernels,
                         kernels_for(program, update, engine.device().host_memory(), cache));
  return engine.update(std::move(update), std::move(kernels), stream);
}

}  // namespace wootz
