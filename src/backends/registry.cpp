#include "backends/registry.h"

#include <array>
#include <atomic>
#include <mutex>

#include "backends/host_steps.h"
#include "backends/random_steps.h"
#include "backends/reference/reference_provider.h"

namespace wootz {

#define BACKEND(name) const Backend& name##_backend();
#include "backends/backends.def"
#undef BACKEND

namespace {

// Looked up without a lock, also while one is added.
struct Known {
  static constexpr size_t kMost = 32;
  std::array<const Backend*, kMost> backends{};
  std::atomic<size_t> count{0};
  std::mutex adding;

  Known() {
#define BACKEND(name) backends[count++] = &name##_backend();
#include "backends/backends.def"
#undef BACKEND
  }
};

Known& known() {
  static Known all;
  return all;
}

}  // namespace

Status add_backend(const Backend& backend) {
  Known& all = known();
  const std::lock_guard<std::mutex> lock(all.adding);
  const size_t count = all.count;
  for (size_t i = 0; i < count; ++i)
    if (std::string_view(all.backends[i]->name) == backend.name)
      return invalid_argument("there is a backend '{}' already", backend.name);
  if (count == Known::kMost) return make_error(Code::kResourceExhausted, "there are {} backends already", count);
  all.backends[count] = &backend;
  all.count.store(count + 1, std::memory_order_release);
  return Status();
}

std::span<const Backend* const> all_backends() {
  const Known& all = known();
  return {all.backends.data(), all.count.load(std::memory_order_acquire)};
}

Result<const Backend*> find_backend(std::string_view name) {
  std::string names;
  for (const Backend* backend : all_backends()) {
    if (name == backend->name) return backend;
    names += names.empty() ? "" : ", ";
    names += backend->name;
  }
  return invalid_argument("no backend '{}' in this build; known are: {}", name, names);
}

DefaultBackend default_backend() {
  DefaultBackend found{all_backends().front(), ""};
  for (const Backend* backend : all_backends()) {
    if (!backend->can.by_default) continue;
    const Status ready = backend->ready();
    if (ready.ok()) return {backend, ""};
    found.missing += (found.missing.empty() ? "" : "; ") + ready.message();
  }
  if (found.missing.empty()) found.missing = "this build has no backend for one";
  return found;
}

CurrentDevices::CurrentDevices() {
  for (const Backend* backend : all_backends())
    if (const int number = backend->current(); number != kCurrentDevice) numbers_.emplace_back(backend, number);
}

int CurrentDevices::of(std::string_view backend) const {
  for (const auto& [known, number] : numbers_)
    if (backend == known->name) return number;
  return kCurrentDevice;
}

Result<DeviceDescription> find_known_device(std::string_view name) {
  std::string devices, backends;
  for (const Backend* backend : all_backends()) {
    for (DeviceDescription& device : backend->known_devices()) {
      if (name == device.alias) return std::move(device);
      devices += (devices.empty() ? "" : ", ") + device.alias;
    }
    backends += fmt::format("{}{}", backends.empty() ? "" : ", ", backend->name);
  }
  return invalid_argument("no device is known as '{}': a backend ({}), a description (FILE.json), or one of: {}", name,
                          backends, devices.empty() ? "none" : devices);
}

std::vector<const Provider*> backend_providers(const Backend& backend) {
  std::vector<const Provider*> providers = backend.providers();
  if (!backend.can.own_memory) providers.push_back(&random_steps_provider());
  providers.push_back(backend.can.own_memory ? &host_steps_provider() : reference_provider());
  return providers;
}

}  // namespace wootz
