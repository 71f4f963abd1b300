// Runs the network in float on representative inputs, and looks at every value.
#pragma once

#include "build/session.h"
#include "quant/calibration_source.h"

namespace wootz {

// On the device that is built for, or on the processor where that is elsewhere. Errors: of the source, a value that is
// not finite, with its name; Code::kCancelled when the progress said so.
Result<TensorScales> run_calibration(const BuildSession& session, CalibrationSource& source);

}  // namespace wootz
