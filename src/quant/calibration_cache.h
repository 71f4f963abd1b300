// Scales as TensorRT keeps them between builds: a line with version and algorithm, then "tensor: hex" with the bits of
// the scale, range / 127, as a number of 32 bits.
#pragma once

#include <string>
#include <string_view>

#include "quant/range.h"

namespace wootz {

struct CalibrationCache {
  RangeMethod method = RangeMethod::kEntropy2;
  TensorScales scales;
};

std::string write_calibration_cache(const CalibrationCache& cache, int version);

// Errors: a first line that names no algorithm, a line of another form, a scale that is none, with the line's number.
Result<CalibrationCache> read_calibration_cache(std::string_view text);

}  // namespace wootz
