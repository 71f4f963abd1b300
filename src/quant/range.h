// From the values of a tensor to the range that INT8 is to cover: [-range, range], in steps of range / 127.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "quant/histogram.h"

namespace wootz {

enum class RangeMethod : uint8_t { kLegacy, kEntropy, kEntropy2, kMinMax, kLeastError };

// As calibration caches name it: "EntropyCalibration2".
const char* range_method_name(RangeMethod method);
std::optional<RangeMethod> range_method_from_name(std::string_view name);
// As options name it: "entropy2". The error names those that there are.
Result<RangeMethod> range_method_from_option(std::string_view text);

struct RangeRule {
  RangeMethod method = RangeMethod::kEntropy2;
  // Of kLegacy: the range ends where this part of the values is within it, and not below this part of the largest.
  double quantile = 1, cutoff = 1;
};

// A tensor that was 0 throughout gets 1: whatever comes later is not cut off at nothing.
double find_range(const Histogram& values, const RangeRule& rule);

// The bin after which it is best cut: where what is lost by 128 steps up to there and by counting all that is above as
// the last of them is least, as relative entropy. At least 128, and with no more than a tenth of the values above.
size_t least_divergent_bin(const std::vector<uint64_t>& bins);

// The bin after which it is best cut: where the squares of what rounding to 127 steps up to there and cutting off above
// change the values by are least in sum. Never below a sixteenth of the histogram's first bins.
size_t least_error_bin(const std::vector<uint64_t>& bins);

// What a step of INT8 counts where it covers a range.
inline float int8_scale(double range) { return static_cast<float>(range / 127); }

// Scales of tensors, by name: what caches keep, so that a build from a cache has the very same.
using TensorScales = std::map<std::string, float, std::less<>>;

}  // namespace wootz
