// Asks what becomes of a network that is quantized, before it is.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "build/session.h"

namespace wootz {

struct CalibrationPreview {
  std::set<std::string> in_8_bits;    // nodes of the model in steps that compute so, by their names in provenances
  std::vector<std::string> unscaled;  // as InsertedQdq has them
};

// A copy of the network is quantized by the session's scales, and lowered. For products that are in no 8-bit step then,
// the device has no such kernel, and would compute in float with values that are rounded for nothing.
Result<CalibrationPreview> try_quantized(const BuildSession& session,
                                         const std::function<bool(const Node&)>& stays_float);

}  // namespace wootz
