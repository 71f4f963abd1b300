#include "runtime/create_engine.h"

#include "backend/pack_constants.h"
#include "base/thread_pool.h"
#include "runtime/control.h"

namespace wootz {
namespace {

using Engines = std::vector<std::shared_ptr<EngineCore>>;

Result<std::shared_ptr<const Kernel>> control_kernel(const Step& step, const Engines& bodies,
                                                     const std::shared_ptr<Device>& device) {
  WOOTZ_ASSIGN_OR_RETURN(const ControlForm form, read_control(step.problem));
  std::vector<std::shared_ptr<const EngineCore>> own;
  for (const ControlBody& body : form.bodies) own.push_back(bodies[static_cast<size_t>(body.program)]);
  Result<std::unique_ptr<Kernel>> kernel = make_control_kernel(step.problem, std::move(own), device);
  if (!kernel.ok()) return kernel.status().at(PlaceKind::kLayer, step.name);
  return std::shared_ptr<const Kernel>(std::move(kernel).value());
}

// `of_refittable`: a body of a program whose weights can be replaced. `whole`: as EngineCore::Parts has it.
Result<std::shared_ptr<EngineCore>> make_engine(const std::shared_ptr<const Program>& program,
                                                const std::shared_ptr<Device>& device, const EngineOptions& options,
                                                KernelCache* kernels, bool of_refittable, const EngineCore* whole) {
  EngineCore::Parts parts;
  parts.of_refittable = of_refittable;
  parts.whole = whole;
  const bool refittable = of_refittable || program->refit != nullptr;
  const auto make_body = [&](size_t b, const EngineCore* of) {
    const std::shared_ptr<const Program> inner(program, &program->bodies[b]);
    return make_engine(inner, device, options, kernels, refittable, of);
  };
  parts.bodies.resize(program->bodies.size());
  for (size_t b = 0; b < program->bodies.size(); ++b) {
    if (runs_profile(*program, b)) continue;
    WOOTZ_ASSIGN_OR_RETURN(parts.bodies[b], make_body(b, nullptr));
  }
  parts.kernels.reserve(program->steps.size());
  for (const Step& step : program->steps) {
    if (is_control(step)) {
      WOOTZ_ASSIGN_OR_RETURN(parts.kernels.emplace_back(), control_kernel(step, parts.bodies, device));
    } else {
      WOOTZ_ASSIGN_OR_RETURN(parts.kernels.emplace_back(), kernels->get(step));
      if (program->stripped) continue;  // a refit makes all of its constants
      WOOTZ_RETURN_IF_ERROR(check_forms(*program, step, *parts.kernels.back()).at(PlaceKind::kLayer, step.name));
    }
  }
  parts.program = program;
  parts.device = device;
  WOOTZ_ASSIGN_OR_RETURN(std::shared_ptr<EngineCore> engine, EngineCore::create(std::move(parts), options));
  for (size_t b = 0; b < program->bodies.size(); ++b) {
    if (!runs_profile(*program, b)) continue;
    WOOTZ_ASSIGN_OR_RETURN(std::shared_ptr<EngineCore> body, make_body(b, engine.get()));
    engine->set_body(b, std::move(body));
  }
  return engine;
}

}  // namespace

Result<std::shared_ptr<EngineCore>> create_engine(std::shared_ptr<const Program> program,
                                                  std::shared_ptr<Device> device,
                                                  std::vector<const Provider*> providers, const EngineOptions& given,
                                                  KernelCache* kernels) {
  EngineOptions options = given;
  if (options.threads <= 0) options.threads = ThreadPool::process().size();
  const ParallelScope threads(options.threads);
  Limits limits;
  limits.threads = options.threads;
  limits.at = device;
  const DeviceScope current(*device);
  KernelCache own(std::move(providers), limits);
  return make_engine(program, device, options, kernels == nullptr ? &own : kernels, false, nullptr);
}

}  // namespace wootz
