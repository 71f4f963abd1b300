// libcuda.so.1 of the stand-in: the driver's functions by name, each one of the stand-in's table. They are found when
// the library is asked for them, so that their types need not be repeated. WOOTZ_STAND_IN_DEVICES: how many GPUs there
// are.
#include <cstdio>
#include <cstdlib>

#include "backends/cuda/driver.h"
#include "backends/cuda/stand_in/stand_in.h"

namespace {
const wootz::cuda::Driver* table() {
  const char* const devices = std::getenv("WOOTZ_STAND_IN_DEVICES");
  const wootz::Status status = wootz::cuda::use_stand_in(devices == nullptr ? 1 : std::atoi(devices));
  if (!status.ok()) {
    std::fprintf(stderr, "stand-in for a GPU: %s\n", status.to_string().c_str());
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
