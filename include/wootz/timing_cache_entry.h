// Key and value of an editable timing cache.
#pragma once

#include <cstdint>

namespace nvinfer1 {
namespace v_1_0 {

/// Names a problem on a device: one step of the network with its shapes, types and layouts.
class TimingCacheKey {
 public:
  uint8_t data[16];
};

/// The tactic chosen for a problem, and its median time.
class TimingCacheValue {
 public:
  /// The hash that stands for "no tactic".
  static constexpr uint64_t kINVALID_TACTIC_HASH = 0;

  /// kINVALID_TACTIC_HASH when there is none.
  uint64_t tacticHash;
  /// Milliseconds; not meaningful without a tactic.
  float timingMSec;
};

}  // namespace v_1_0

using TimingCacheKey = v_1_0::TimingCacheKey;
using TimingCacheValue = v_1_0::TimingCacheValue;

}  // namespace nvinfer1
