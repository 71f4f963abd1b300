// The inputs and outputs of an imported graph as the API can say them.
#pragma once

#include "api/runtime/reporter.h"
#include "ir/graph.h"

namespace wootz::api {

// An input or output of a type that the API has no number for takes the nearest one, with a Cast inside (`exact_types`:
// it stays), and every output becomes the result of a node. What was changed is reported as a warning.
Status fit_interface(Graph& graph, bool exact_types, const Reporter& reporter);

}  // namespace wootz::api
