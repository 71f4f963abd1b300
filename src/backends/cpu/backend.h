// The backend "cpu": this machine's processor and its memory.
#pragma once

#include "backend/backend.h"

namespace wootz {

const Backend& cpu_backend();

}  // namespace wootz
