// The windows of a pooling: pure arithmetic on extents.
#pragma once

#include <array>
#include <vector>

#include "backend/kernel.h"

namespace wootz::cpu {

// Taps of one output position along one axis that lie inside the input, and how many count with the padding.
struct PoolSpan {
  int64_t first = 0;  // input position of the first tap
  int64_t taps = 0;
  int64_t padded = 0;  // taps inside the padded extent
};

// Three spatial axes; missing leading ones have extent 1.
struct PoolPlan {
  PoolKind kind = PoolKind::kMax;
  bool include_pad = false;
  double p = 2;
  int64_t batch = 1, channels = 1;
  std::array<int64_t, 3> in{1, 1, 1}, out{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1};
  std::array<std::vector<PoolSpan>, 3> spans;  // by output position

  int64_t in_volume() const { return in[0] * in[1] * in[2]; }
  int64_t out_volume() const { return out[0] * out[1] * out[2]; }
  // What an average divides by.
  double divisor(const PoolSpan& a, const PoolSpan& b, const PoolSpan& c) const {
    return include_pad ? static_cast<double>(a.padded * b.padded * c.padded)
                       : static_cast<double>(a.taps * b.taps * c.taps);
  }
};

Result<PoolPlan> plan_pool(const Problem& problem, const Dims& in, const Dims& out);

}  // namespace wootz::cpu
