// Every backend that this build knows.
#include "backend/device.h"
#include "backend/libraries.h"
#include "backends/cuda/libraries.h"
#include "backends/host_steps.h"
#include "backends/reference/reference_provider.h"

namespace wootz {

#define BACKEND(name) const Backend& name##_backend();
#include "backends/backends.def"
#undef BACKEND

const std::vector<const Backend*>& all_backends() {
  static const std::vector<const Backend*> backends{
#define BACKEND(name) &name##_backend(),
#include "backends/backends.def"
#undef BACKEND
  };
  return backends;
}

Result<const Backend*> find_backend(std::string_view name) {
  std::string known;
  for (const Backend* backend : all_backends()) {
    if (name == backend->name) return backend;
    known += known.empty() ? "" : ", ";
    known += backend->name;
  }
  return invalid_argument("no backend '{}' in this build; known are: {}", name, known);
}

DefaultBackend default_backend() {
  DefaultBackend found{all_backends().front(), ""};
  for (const Backend* backend : all_backends()) {
    if (backend->ready == nullptr) continue;
    const Status ready = backend->ready();
    if (ready.ok()) return {backend, ""};
    found.missing += (found.missing.empty() ? "" : "; ") + ready.message();
  }
  if (found.missing.empty()) found.missing = "this build has no backend for one";
  return found;
}

Result<DeviceDescription> find_known_device(std::string_view name) {
  std::string known;
  for (const Backend* backend : all_backends()) {
    if (backend->known_devices == nullptr) continue;
    for (DeviceDescription& device : backend->known_devices()) {
      if (name == device.alias) return std::move(device);
      known += (known.empty() ? "" : ", ") + device.alias;
    }
  }
  std::string backends;
  for (const Backend* backend : all_backends())
    backends += fmt::format("{}{}", backends.empty() ? "" : ", ", backend->name);
  return invalid_argument("no device is known as '{}': a backend ({}), a description (FILE.json), or one of: {}", name,
                          backends, known.empty() ? "none" : known);
}

std::vector<const Provider*> backend_providers(const Backend& backend) {
  std::vector<const Provider*> providers = backend.providers();
  providers.push_back(backend.own_memory ? &host_steps_provider() : reference_provider());
  return providers;
}

std::vector<LibraryState> backend_libraries(const Backend& backend, bool elsewhere) {
#ifndef WOOTZ_NO_CUDA
  if (std::string_view(backend.name) == "cuda") return cuda::library_states(elsewhere);
#endif
  return {};  // the others are linked with what they use
}

}  // namespace wootz
