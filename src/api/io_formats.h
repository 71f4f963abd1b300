// The formats that a network's inputs and outputs may have, from tensors to a build and into its plan.
#pragma once

#include <string>
#include <vector>

#include "api/network/network.h"
#include "backend/program.h"

namespace wootz::api {

// What ITensor::setAllowedFormats says of the graph's inputs and outputs. `direct`: of those whose formats were set,
// none is to be reformatted. `settled`: the first that can be had counts, whatever kernels there are. Errors: no format
// that is allowed for a tensor is one of its rank and channels.
Result<std::vector<BorderWish>> border_wishes(const NetworkImpl& network, const Graph& graph, bool direct,
                                              bool settled);

// JSON: by the names of inputs and outputs that are not row-major, the number of their format.
std::string formats_json(const NetworkImpl& network, const Program& program);

}  // namespace wootz::api
