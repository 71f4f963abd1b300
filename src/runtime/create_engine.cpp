#include "runtime/create_engine.h"

#include "base/thread_pool.h"
#include "runtime/control.h"

namespace wootz {
namespace {

using Engines = std::vector<std::shared_ptr<const EngineCore>>;

Result<std::shared_ptr<const Kernel>> control_kernel(const Step& step, const Engines& bodies,
                                                     const std::shared_ptr<Device>& device) {
  WOOTZ_ASSIGN_OR_RETURN(const ControlForm form, read_control(step.problem));
  Engines own;
  for (const ControlBody& body : form.bodies) own.push_back(bodies[static_cast<size_t>(body.program)]);
  Result<std::unique_ptr<Kernel>> kernel = make_control_kernel(step.problem, std::move(own), device);
  if (!kernel.ok()) return kernel.status().at(PlaceKind::kLayer, step.name);
  return std::shared_ptr<const Kernel>(std::move(kernel).value());
}

}  // namespace

Result<std::shared_ptr<EngineCore>> create_engine(std::shared_ptr<const Program> program,
                                                  std::shared_ptr<Device> device,
                                                  std::vector<const Provider*> providers, const EngineOptions& given,
                                                  KernelCache* kernels) {
  EngineOptions options = given;
  if (options.threads <= 0) options.threads = ThreadPool::process().size();
  const ParallelScope threads(options.threads);
  Engines bodies;
  for (const Program& body : program->bodies) {
    const std::shared_ptr<const Program> inner(program, &body);
    WOOTZ_ASSIGN_OR_RETURN(bodies.emplace_back(), create_engine(inner, device, providers, options, kernels));
  }
  Limits limits;
  limits.threads = options.threads;
  limits.at = device;
  const DeviceScope current(*device);
  KernelCache own(std::move(providers), limits);
  if (kernels == nullptr) kernels = &own;
  std::vector<std::shared_ptr<const Kernel>> made;
  made.reserve(program->steps.size());
  for (const Step& step : program->steps) {
    if (is_control(step)) {
      WOOTZ_ASSIGN_OR_RETURN(made.emplace_back(), control_kernel(step, bodies, device));
    } else {
      WOOTZ_ASSIGN_OR_RETURN(made.emplace_back(), kernels->get(step));
    }
  }
  return EngineCore::create(std::move(program), std::move(device), std::move(made), options);
}

}  // namespace wootz
