#include "backends/addresses.h"

#include "backends/registry.h"
#include "base/mapped.h"

namespace wootz {

Status check_host_address(const void* address) {
  if (address == nullptr) return Status();
  for (const Backend* backend : all_backends())
    if (backend->holds(address)) return invalid_argument("{} is memory of a GPU, which the host cannot touch", address);
  if (!is_mapped(address)) return invalid_argument("there is no memory at {}", address);
  return Status();
}

Status check_address(const Device& device, const void* address) {
  if (address == nullptr) return Status();
  return device.host_memory() ? check_host_address(address) : device.check_address(address);
}

}  // namespace wootz
