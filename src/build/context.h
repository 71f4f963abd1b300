// What all stages of a build share: settings, whom it is for, and the kernels that it creates.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "backend/backend.h"
#include "backend/kernel_cache.h"
#include "build/settings.h"
#include "tuner/measure/device_lock.h"

namespace wootz {

// Whom the build is for.
struct BuildTarget {
  const Backend* backend = nullptr;
  DeviceDescription description;
  std::shared_ptr<Device> device;  // to measure on; null: it is not this machine's
};

struct BuildContext {
  BuildContext(const BuildSettings& settings, const BuildServices& services)
      : settings(settings), services(services), log(*services.log) {}

  const BuildSettings& settings;
  const BuildServices& services;
  const Log& log;
  // From stage `target`.
  BuildTarget target;
  KeptCodeScope kept_code{settings.keep_compiled};
  std::optional<DeviceScope> current;  // its device is this thread's current one while the build goes on
  Limits limits;
  std::unique_ptr<const Provider> plugin_steps;   // null: the network has none
  DeviceLock alone;                               // of the device, from the first measurement to the last
  bool asked_alone = false;                       // for it
  std::vector<std::shared_ptr<const void>> held;  // ConcurrentProvider::hold() of each
  std::optional<KernelCache> kernels;             // all that this build creates

  const std::vector<const Provider*>& providers() const { return kernels->providers(); }
};

}  // namespace wootz
