// Which backend a build takes when no option says it.
#pragma once

#include <string>

namespace wootz::api {

struct BackendChoice {
  const char* name = "";  // lives as long as the process, or as the environment variable is left alone
  std::string reason;
};

// WOOTZ_BACKEND; without it what this machine has, a GPU before the processor.
BackendChoice backend_by_default();

}  // namespace wootz::api
