// A backend: a kind of device, those of this machine, and who computes on them.
#pragma once

#include "backend/device.h"
#include "backend/libraries.h"

namespace wootz {

// What the compiler and the runtime ask of a backend.
struct Capabilities {
  bool own_memory = false;  // its devices' memory is not the host's
  // Some provider computes two steps as one (family `chain`): nodes are put together for it, out of the sight of what
  // comes later.
  bool chains = false;
  bool squeeze_excite = false;  // some provider computes family `squeeze_excite`
  bool patch_products =
      false;               // a convolution of few channels by large windows takes longer than a product of its rows
  bool gate_sums = false;  // some provider computes a depthwise convolution and the gate of its image as one step
  // Some provider computes a convolution and the one of single pixels that reads it as one step.
  bool convolution_pairs = false;
  bool convolution_sums = false;  // some provider computes two convolutions whose results are added up as one step
  // Some provider computes what follows on a gather or a concatenation with it: family `embedding`, and expressions of
  // family `move`.
  bool fused_moves = false;
  bool norm_products = false;  // some provider computes a normalization and the product that reads it as one step
  bool siblings = false;       // some provider computes family `siblings`
  bool stems = false;  // some provider computes an image's bytes or 16-bit floats and their convolution as one step
  bool unsigned_bytes = false;  // it multiplies u8 with any zero point by i8 no slower than i8 by i8
  bool by_default = false;      // taken by builds without a device setting, where it is ready()
  bool one_isa = false;         // a plan runs only on devices of the ISA that it was built for
};

// The device that is current in the calling thread, as the backend's own library has it; the first where none is.
inline constexpr int kCurrentDevice = -1;

// Lives as long as the process. A folder of its own; backends.def names those that come with the library, and
// add_backend() makes others known (backends/registry.h).
class Backend {
 public:
  Backend(const char* name, Capabilities can) : name(name), can(can) {}
  virtual ~Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  const char* const name;
  const Capabilities can;

  // The device of a number, from 0. Errors: this machine has none, or not that one, with those that it has.
  virtual Result<std::shared_ptr<Device>> open(int number = kCurrentDevice) const = 0;
  // The devices that this machine has, by number. Errors: why it has none.
  virtual Result<std::vector<DeviceDescription>> devices() const;
  // The number of the device that is current in the calling thread. Loads no driver; kCurrentDevice: there is none.
  virtual int current() const { return kCurrentDevice; }
  virtual std::vector<const Provider*> providers() const = 0;
  // Whether all that building and running for this machine's own device takes is here. The error says what is missing.
  virtual Status ready() const { return Status(); }
  // Whether reduced precision is worth assigning to a network's FP32 values here.
  virtual bool computes_fast_in(DType type) const {
    (void)type;
    return false;
  }
  // Whether products of u8 by i8 take it so much less work than those of i8 by i8 that a bound at 127 steps is worth
  // it.
  virtual bool prefers_unsigned_bytes() const { return false; }
  // Whether convolutions by groups or by channel gain so much in 8 bits that a calibration rounds for them, too: they
  // lose more by it than others. Models that say by themselves what is rounded are computed as they say.
  virtual bool calibrates_groups() const { return true; }
  // Devices that it knows by name without having them, as "h200".
  virtual std::vector<DeviceDescription> known_devices() const { return {}; }
  // Takes machine code of a plan whose owner permitted it to be run; used as long as its owners live.
  virtual void offer_native(const std::vector<NativeCode>& code) const { (void)code; }
  // Whether an address is in memory of its devices that the host cannot touch. Asks only a driver that the process has
  // loaded already.
  virtual bool holds(const void* address) const {
    (void)address;
    return false;
  }
  // The libraries that it opens at run time, opened by this call if they were not: for a device at hand, or elsewhere.
  virtual std::vector<LibraryState> libraries(bool elsewhere) const {
    (void)elsewhere;
    return {};
  }
};

// "0: NVIDIA H200 (sm_90), 1: ...", for messages.
std::string list_devices(const std::vector<DeviceDescription>& devices);
// Ok: a backend of these devices has one of this number. The error lists them.
Status check_device_number(std::string_view backend, const std::vector<DeviceDescription>& devices, int number);

}  // namespace wootz
