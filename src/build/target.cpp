// Stage `target`.
#include "backend/concurrent.h"
#include "backends/plugin_steps.h"
#include "backends/registry.h"
#include "base/cpu_info.h"
#include "build/session.h"
#include "build/stages.h"
#include "report/libraries.h"
#include "runtime/report/properties.h"

namespace wootz {
namespace {

Result<BuildTarget> find_target(const BuildSettings& settings, const std::shared_ptr<Allocator>& allocator) {
  WOOTZ_ASSIGN_OR_RETURN(const Backend* backend, find_backend(settings.backend));
  if (settings.device && settings.device->backend != backend->name)
    return invalid_argument("the device description is of backend '{}', the build is for '{}'",
                            settings.device->backend, backend->name);
  Result<std::shared_ptr<Device>> opened = backend->open(settings.device_number);
  if (!settings.device) {
    if (!opened.ok()) return opened.status();
    return BuildTarget{backend, (*opened)->describe(), with_allocator(*opened, allocator)};
  }
  const bool here = opened.ok() && *opened != nullptr && (*opened)->describe().isa == settings.device->isa;
  return BuildTarget{backend, *settings.device, here ? with_allocator(*opened, allocator) : nullptr};
}

Limits limits_of(const BuildSettings& settings, const BuildTarget& target) {
  Limits limits;
  limits.workspace = settings.workspace;
  limits.threads = settings.threads > 0 ? settings.threads : target.description.threads;
  limits.isa_cap = settings.isa_cap;
  limits.allow_unordered = settings.allow_unordered;
  limits.tf32 = settings.tf32;
  limits.host_steps = settings.host_steps;
  limits.device = &target.description;
  limits.at = target.device;
  limits.left_out.assign(settings.left_out.begin(), settings.left_out.end());
  return limits;
}

// What keeps weights as the model has them leaves their form to the loading of the plan.
Status check_portable(const BuildSettings& settings, const Backend& backend) {
  if (!settings.portable) return Status();
  if (backend.can.own_memory)
    return unsupported(
        "option 'portable' is of plans for processors; those for GPUs have a hardware compatibility level");
  const bool streams = property::is_on(settings.properties, property::kStreaming);
  if (settings.refit || streams)
    return unsupported("option 'portable': a plan whose weights are {} is for one processor",
                       streams ? "streamed" : "refitted or stripped");
  return Status();
}

}  // namespace

Status open_target(BuildSession& session) {
  const BuildSettings& settings = session.settings;
  if (session.graph.outputs().empty()) return invalid_argument("the network has no output");
  WOOTZ_ASSIGN_OR_RETURN(session.target, find_target(settings, session.services.allocator));
  const Backend& backend = *session.target.backend;
  WOOTZ_RETURN_IF_ERROR(check_portable(settings, backend));
  const DeviceDescription& device = session.target.description;
  session.report.libraries = backend.libraries(session.target.device == nullptr);
  WOOTZ_RETURN_IF_ERROR(check_libraries(backend.name, session.report.libraries, session.log));
  if (!settings.backend_reason.empty())
    session.log.info(
        fmt::format("Backend: {}, {} ({}): {}", backend.name, device.name, device.isa, settings.backend_reason));
  if (!settings.isa_cap.empty()) WOOTZ_RETURN_IF_ERROR(isa_from_name(settings.isa_cap).status());
  if (settings.independent_places && session.target.device == nullptr)
    return unsupported(
        "whether results depend on their place is found out by running kernels, and the device that is built for is "
        "elsewhere: build without distributive independence, or where the device is");
  session.limits = limits_of(settings, session.target);
  if (session.target.device != nullptr) session.current.emplace(*session.target.device);
  std::vector<const Provider*> providers = backend_providers(backend);
  std::erase_if(providers, [&](const Provider* p) { return settings.left_out.count(p->name()) != 0; });
  if (session.services.plugins != nullptr) {
    session.plugin_steps = plugin_steps_provider(session.services.plugins);
    providers.push_back(session.plugin_steps.get());
  }
  for (const Provider* p : providers)
    if (const auto* concurrent = dynamic_cast<const ConcurrentProvider*>(p); concurrent != nullptr)
      session.held.push_back(concurrent->hold(session.limits));
  session.kernels.emplace(std::move(providers), session.limits);
  return Status();
}

}  // namespace wootz
