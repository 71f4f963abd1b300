// What a build says about the libraries that its backend opens.
#pragma once

#include "backend/libraries.h"
#include "base/log.h"
#include "base/status.h"

namespace wootz {

// A warning for each that is missed. Errors: one that nothing can be built without.
Status check_libraries(const char* backend, const std::vector<LibraryState>& libraries, const Log& log);

// As wootz_backend_libraries() gives them.
std::string libraries_json(const std::vector<LibraryState>& libraries);

}  // namespace wootz
