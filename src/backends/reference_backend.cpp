// The backend "reference": this machine's memory, and every op by its reference.
#include "backends/cpu/backend.h"
#include "backends/reference/reference_provider.h"

namespace wootz {
namespace {

Result<std::shared_ptr<Device>> open_reference(const DeviceDescription* wanted) {
  if (wanted != nullptr && wanted->backend != "reference")
    return invalid_argument("backend reference: asked for a device of backend '{}'", wanted->backend);
  return cpu_backend().open(nullptr);
}

std::vector<const Provider*> no_providers() { return {}; }

constexpr Backend kReference{"reference", open_reference, no_providers};

}  // namespace

const Backend& reference_backend() { return kReference; }

}  // namespace wootz
