// Runs the network in float on representative inputs, and looks at every value.
#pragma once

#include "build/session.h"
#include "quant/calibration_source.h"

namespace wootz {

struct CalibrationResult {
  TensorScales scales;
  std::map<std::string, float, std::less<>> least;  // value of each tensor; 0 where none is negative
  // Tensors that have none, such as a mask of infinities, and why. It only matters where one is to be quantized.
  std::map<std::string, std::string, std::less<>> without_range;
};

// On the device that is built for, or on the processor where that is elsewhere. Errors: of the source, of a step;
// Code::kCancelled when the progress said so.
Result<CalibrationResult> run_calibration(const BuildSession& session, CalibrationSource& source);

// The source's rule, of the method that the build is set to where it is.
RangeRule calibration_rule(const BuildSession& session, CalibrationSource& source);

// To do with as one likes.
std::shared_ptr<Graph> copy_of_network(const Graph& graph);

}  // namespace wootz
