#include "build/find_scales.h"

#include "build/stages.h"

namespace wootz {

Result<CalibrationResult> find_scales(Graph& graph, const BuildSettings& settings, const BuildServices& services) {
  if (services.calibration == nullptr) return invalid_argument("there is nothing to find scales with");
  BuildSession session(graph, settings, services);
  WOOTZ_RETURN_IF_ERROR(open_target(session));
  WOOTZ_RETURN_IF_ERROR(infer_network(session));
  return run_calibration(session, *services.calibration);
}

}  // namespace wootz
