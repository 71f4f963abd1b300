// libcuda.so.1 of the emulator: the driver's functions by name, each one of the emulator's table. They are found when
// the library is asked for them, so that their types need not be repeated. WOOTZ_EMULATOR_DEVICES: how many GPUs there
// are.
#include <cstdio>
#include <cstdlib>

#include "backends/cuda/device/driver.h"
#include "backends/cuda/emulator/emulator.h"

namespace {
const wootz::cuda::Driver* table() {
  const char* const devices = std::getenv("WOOTZ_EMULATOR_DEVICES");
  const wootz::Status status = wootz::cuda::use_emulator(devices == nullptr ? 1 : std::atoi(devices));
  if (!status.ok()) {
    std::fprintf(stderr, "emulator: %s\n", status.to_string().c_str());
    std::abort();
  }
  return *wootz::cuda::driver();
}
}  // namespace

using namespace wootz::cuda;

#define FN(name, ...)                                                       \
  extern "C" decltype(Driver::name) find_##name() { return table()->name; } \
  extern "C" __attribute__((visibility("default"), ifunc("find_" #name))) CUresult name(__VA_ARGS__);
#include "backends/cuda/api/driver_functions.def"
#undef FN
