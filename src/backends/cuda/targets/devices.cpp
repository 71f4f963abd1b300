#include "backends/cuda/targets/devices.h"

#include "base/json.h"

namespace wootz::cuda {
namespace {

struct Row {
  const char *alias, *name;
  int capability, multiprocessors, shared_optin, blocks, threads;
  size_t memory_mib, l2_mib;
  int clock_mhz, memory_clock_mhz;
};
constexpr Row kRows[] = {
#define DEVICE(...) {__VA_ARGS__},
#include "backends/cuda/targets/devices.def"
#undef DEVICE
};

// The keys that cuDNN's device properties have.
std::string properties_of(const Row& r) {
  const OrderedJson json = {{"maxGridSize", {2147483647, 65535, 65535}},
                            {"maxBlockSize", {1024, 1024, 64}},
                            {"regsPerBlock", 65536},
                            {"multiProcessorCount", r.multiprocessors},
                            {"warpSize", 32},
                            {"maxSharedMemoryPerBlock", 49152},
                            {"maxSharedMemoryPerBlockOptin", r.shared_optin},
                            {"reservedSharedMemoryPerBlock", 1024},
                            {"maxRegistersPerSM", 65536},
                            {"maxCtasPerSM", r.blocks},
                            {"maxThreadsPerBlock", 1024},
                            {"maxThreadsPerSM", r.threads},
                            {"pciDeviceId", 0},
                            {"isTccDriver", 0},
                            {"supportCoopLaunch", 1},
                            {"totalGlobalMem", r.memory_mib << 20},
                            {"smClockRateKHz", r.clock_mhz * 1000},
                            {"memClockRateKHz", r.memory_clock_mhz * 1000},
                            {"l2CacheSize", r.l2_mib << 20},
                            {"cudaDeviceId", 0},
                            {"deviceVer", r.capability * 10},
                            {"driverVer", 13000},
                            {"deviceName", r.name}};
  return json.dump();
}

}  // namespace

std::vector<DeviceDescription> known_devices() {
  std::vector<DeviceDescription> all;
  for (const Row& r : kRows) {
    DeviceDescription d;
    d.backend = "cuda";
    d.name = r.name;
    d.isa = fmt::format("sm_{}", r.capability);
    d.memory = r.memory_mib << 20;
    d.properties = properties_of(r);
    d.alias = r.alias;
    all.push_back(std::move(d));
  }
  return all;
}

int capability_of(const DeviceDescription& device) {
  int number = 0;
  if (device.isa.rfind("sm_", 0) != 0) return 0;
  for (size_t i = 3; i < device.isa.size(); ++i) {
    if (device.isa[i] < '0' || device.isa[i] > '9' || number > 1000) return 0;
    number = number * 10 + (device.isa[i] - '0');
  }
  return number;
}

}  // namespace wootz::cuda
