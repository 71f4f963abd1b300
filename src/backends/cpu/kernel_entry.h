// One line of a kernels.inc: a kernel of ours, what it can do and how it is made.
#pragma once

#include <memory>

#include "backend/kernel.h"
#include "base/cpu_info.h"

namespace wootz::cpu {

// Which layouts the data operands of an offer take. An entry names the schemes it wants to be asked about.
enum Scheme : unsigned {
  kSchemeLinear = 1,        // every operand row-major
  kSchemeChannelsLast = 2,  // every operand of the first output's rank channels-last, others row-major
  kSchemeBlocked8 = 4,
  kSchemeBlocked16 = 8,
  kSchemeIntoChannelsLast = 16,  // operands row-major, results channels-last
  kSchemeGiven = 32,             // as the problem says: layouts are part of what is asked (reformat)
  kSchemeImages = kSchemeLinear | kSchemeChannelsLast | kSchemeBlocked8 | kSchemeBlocked16,
};

struct KernelOptions {
  Isa isa = Isa::kNone;
  int threads = 1;
  bool amx = true;  // the caps allow tiles
};

// Beyond the vectors of AVX-512.
enum class Needs : uint8_t { kNothing, kVnni, kAmxInt8, kAmxBf16 };

struct KernelEntry {
  Family family;
  unsigned schemes;
  // Yes, or why not. The problem's layouts are filled in. Called on problems from outside too: it must check everything
  // that create() and bind() rely on.
  Status (*applies)(const Problem& problem);
  Result<std::unique_ptr<Kernel>> (*create)(const Problem& problem, const KernelOptions& options);
  bool scratch = false;  // its calls need workspace
  // Rough time, to rank offers without timing; null: as long as its bytes take to move.
  double (*cost_us)(const Problem& problem, const KernelOptions& options) = nullptr;
  Needs needs = Needs::kNothing;
};

#define KERNEL(name) extern const KernelEntry name;
#include "backends/cpu/kernels.inc"
#undef KERNEL

}  // namespace wootz::cpu
