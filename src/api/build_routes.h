// Build routes: which of the optimizing passes that are a choice a build leaves out, as text.
#pragma once

#include <set>
#include <string>

#include "base/status.h"

namespace wootz::api {

// The passes that "without:PASS+PASS" leaves out; none for the empty text. Errors: another form, or a pass that is no
// choice.
Result<std::set<std::string>> passes_left_out(const std::string& route);
// All routes of one pass, and the empty one before them, as a JSON list of texts.
const std::string& all_build_routes();

}  // namespace wootz::api
