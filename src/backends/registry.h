// Every backend that this process knows: those of backends.def, and those that an application adds.
#pragma once

#include <span>

#include "backend/backend.h"

namespace wootz {

// Makes a backend known that lies outside of this library. Called once for each, before what is to find it. Errors: the
// name is taken, or there are too many.
Status add_backend(const Backend& backend);

// In order of preference.
std::span<const Backend* const> all_backends();
// Look-ups never fail silently: an unknown name lists the known ones.
Result<const Backend*> find_backend(std::string_view name);

// Of a build without a device setting: the first backend that is by_default and ready(), otherwise the first of all.
struct DefaultBackend {
  const Backend* backend = nullptr;
  std::string missing;  // why it is not another; empty: nothing is missing
};
DefaultBackend default_backend();

// The devices that are current in the calling thread when this is made, for objects that stay with them.
class CurrentDevices {
 public:
  CurrentDevices();
  int of(std::string_view backend) const;  // kCurrentDevice: there was none

 private:
  std::vector<std::pair<const Backend*, int>> numbers_;
};

// A device that some backend knows by this name. The error lists the names.
Result<DeviceDescription> find_known_device(std::string_view name);

// The backend's own providers, then the reference: every op has a provider that computes it.
std::vector<const Provider*> backend_providers(const Backend& backend);

}  // namespace wootz
