// The kernels that are generated: the table kernels.inc, a line each.
#pragma once

#include <span>

#include "backends/cuda/generate/families.h"

namespace wootz::cuda {

// The layouts in which a kernel is offered.
enum class Offered {
  kLinear,      // row-major only
  kImages,      // channels-last too, where there are images
  kGiven,       // those of the problem
  kIntoImages,  // the first operand row-major, everything else channels-last
  kOrPlanes,  // as kImages, and where that may be faster (makes_planes) with results row-major of what is channels-last
};

struct KernelEntry {
  Family family;
  const char* name;  // its identity in logs, plans, caches and tests
  Generate generate;
  Offered layouts = Offered::kLinear;
  bool in_place = false;           // output 0 may overwrite an operand that is read element for element
  double overhead = 1;             // without an estimate: times the cost of a library's kernel
  bool last = false;               // offered where no other kernel computes the problem, and no library does
  PackConstant pack = nullptr;     // the form in which it wants constants; null: as they are
  Estimate estimate = nullptr;     // null: by the bytes that are moved
  PackAmong pack_among = nullptr;  // in place of `pack`, where it looks at several constants
  int capability = 80;             // the least: 90 of sm_90
  int newest = 1000;               // the last: instructions of sm_90a are that GPU's alone
  bool tf32 = false;               // it rounds FP32 operands to TF32: offered where that is allowed
  bool short_sums = false;  // in some 14 bits, as tensor cores add floats of 8 bits: FP32 results where TF32 is allowed
  int compressed = -1;  // operand of which `pack` keeps less than there is, and whose bytes the kernel looks at itself
};

// Whether one of the tiles for products of 16-bit floats is offered for it.
bool has_half_tiles(const Problem& problem);

// Whether its results are likely to leave the network, row-major, or cannot be stored by vectors otherwise.
bool makes_planes(const Problem& problem);

// In the order in which they are offered.
std::span<const KernelEntry> kernel_table();

}  // namespace wootz::cuda
