// A shared library opened at run time: nothing of CUDA is linked, so that one build runs with and without it.
#pragma once

#include <initializer_list>
#include <string>

#include "base/status.h"

namespace wootz::cuda {

// The first of these names that opens: as the system finds it, then in the folders of WOOTZ_CUDA_PATH (separated by
// colons) and in the usual places of a toolkit. It stays open. The error lists the names.
Result<void*> open_library(std::initializer_list<const char*> names);

// A function of it, or null.
void* find_symbol(void* library, const char* name);

}  // namespace wootz::cuda
