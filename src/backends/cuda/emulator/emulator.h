// An instrument for tests: a table of driver functions that keeps device memory in host memory and runs generated
// kernels on the processor, block after block, with the threads of a block as fibers where they meet at barriers.
// Kernels are compiled by the machine's C++ compiler, many at a time. As on a GPU, the host faults at a device's
// address, and a kernel that is handed one of the host's breaks the context. Checks what a GPU would not: writes beyond
// the end of an allocation; fills fresh memory with NaN; and replays what is not ordered in a random order.
#pragma once

#include <string>

#include "base/status.h"

namespace wootz::cuda {

// Puts the emulator, with at least so many GPUs, in place of the driver for the rest of the process. Errors: no folder
// for what it compiles.
Status use_emulator(int devices = 1);
bool emulator_in_use();
// Kernels run several times as long, and what is wrong with their barriers is a fault (races.h): with the variable
// WOOTZ_EMULATOR_RACES=1 in the environment when the emulator is put in place.
bool emulator_searches_races();
// Of one of its GPUs: allocated and not freed.
size_t emulator_bytes(int device);
// Compiles what has been loaded since the last call and not yet been compiled; done by need otherwise.
Status compile_pending();
// What has been asked of the driver so far.
struct EmulatorCounts {
  long allocations = 0, frees = 0, modules = 0, launches = 0;
  long instantiations = 0, updates = 0, replays = 0;
  long kernels = 0;   // run, whether launched or replayed
  long pointers = 0;  // questions about addresses
  long windows = 0;   // shares of the cache that streams were given
  long managed = 0;   // allocations that the host reads too
  long waits = 0;     // calls that wait for the device: synchronizing, and copies that are not put on a stream
};
EmulatorCounts emulator_counts();

// Makes a call fail: after `after` more of its kind that succeed, one gives `result`, a CUresult. A kernel that fails
// while running breaks the context for good, as on a GPU, until this is called again.
enum class EmulatorCall { kNone, kAllocate, kLoadModule, kLaunch, kRunKernel };
struct EmulatorFault {
  EmulatorCall call = EmulatorCall::kNone;
  int after = 0;
  int result = 0;
};
void emulator_fail(const EmulatorFault& fault);

// Host memory that is to pass for memory of another kind; kOtherDevice: of GPU 1. What is allocated by the driver's own
// functions need not be registered.
enum class EmulatorMemory { kHost, kManaged, kDevice, kOtherDevice };  // kHost: registered with CUDA
struct EmulatorRange {
  void* begin = nullptr;
  size_t bytes = 0;
  EmulatorMemory memory = EmulatorMemory::kHost;
};
void emulator_register(const EmulatorRange& range);
// To be called before the memory is given back: what comes to lie there is ordinary again.
void emulator_unregister(const void* begin);

// What was found wrong since the last call: allocations written beyond their end, races. Empty: nothing.
std::string emulator_faults();

}  // namespace wootz::cuda
