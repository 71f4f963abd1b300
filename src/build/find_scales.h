// Scales of a network's values by representative inputs, without a build.
#pragma once

#include "build/calibration_run.h"

namespace wootz {

// Of every value in f32. `services.calibration` gives the inputs. The graph is left as it is but for types and extents.
// Errors: as run_calibration().
Result<CalibrationResult> find_scales(Graph& graph, const BuildSettings& settings, const BuildServices& services);

}  // namespace wootz
