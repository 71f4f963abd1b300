// Every backend that this build knows.
#include "backend/device.h"
#include "backends/host_steps.h"
#include "backends/reference/reference_provider.h"

namespace wootz {

#if defined(WOOTZ_HAVE_CUDA)
#define CUDA_BACKEND(name) BACKEND(name)
#else
#define CUDA_BACKEND(name)
#endif

#define BACKEND(name) const Backend& name##_backend();
#include "backends/backends.def"
#undef BACKEND

std::vector<const Backend*> all_backends() {
  return {
#define BACKEND(name) &name##_backend(),
#include "backends/backends.def"
#undef BACKEND
  };
}

Result<const Backend*> find_backend(std::string_view name) {
  std::string known;
  for (const Backend* backend : all_backends()) {
    if (name == backend->name) return backend;
    known += known.empty() ? "" : ", ";
    known += backend->name;
  }
  if (name == "cuda")
    return unsupported(
        "this build has no backend 'cuda': no CUDA toolkit was found when it was configured "
        "(./dev setup cuda brings one); known are: {}",
        known);
  return invalid_argument("no backend '{}' in this build; known are: {}", name, known);
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
  for (const Backend* backend : all_backends()) backends += fmt::format("{}{}", backends.empty() ? "" : ", ", backend->name);
  return invalid_argument("no device is known as '{}': a backend ({}), a description (FILE.json), or one of: {}", name,
                          backends, known.empty() ? "none" : known);
}

std::vector<const Provider*> backend_providers(const Backend& backend) {
  std::vector<const Provider*> providers = backend.providers();
  providers.push_back(backend.own_memory ? &host_steps_provider() : reference_provider());
  return providers;
}

}  // namespace wootz
