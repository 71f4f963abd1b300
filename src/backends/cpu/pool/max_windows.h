// The largest of windows, channels last, for one instruction set.
#pragma once

#include <array>
#include <cstdint>

#include "base/cpu_info.h"
#include "base/dtype.h"

namespace wootz::cpu {

// Windows beside each other with equally many taps along each axis. Steps are in elements.
struct MaxWindows {
  const void* x;  // the first tap of the first window
  void* y;        // its results, of the type of x
  int64_t count, apart, y_apart;
  std::array<int64_t, 3> taps, step;
  int64_t channels;
};
using MaxWindowsFn = void (*)(const MaxWindows&);

// Of i8, u8, f32, f16 and bf16; null for others. A NaN wins; a window without taps gives the lowest value of its type.
MaxWindowsFn find_max_windows(Isa isa, DType type);

}  // namespace wootz::cpu
