// A shared library opened at run time: nothing of CUDA is linked, so that one build runs with and without it.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "base/status.h"

namespace wootz::cuda {

// The first of these names that opens: as the system finds it (or because the process has it open already), then in the
// folders of library_folders(). It stays open. The error lists the names and where they were looked for.
Result<void*> open_library(std::initializer_list<const char*> names);

// The folders of WOOTZ_CUDA_PATH (separated by colons); those of a toolkit (CUDA_HOME, /usr/local/cuda); those that
// were added (base/library_folders.h: the packages that the running Python imports from); and those of the packages
// nvidia-* of Python's, where this process has anything else of site-packages open, or an environment is active.
std::vector<std::string> library_folders();

// A function of it, or null.
void* find_symbol(void* library, const char* name);
template <typename Function>
bool find_symbol(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(find_symbol(library, name));
  return *function != nullptr;
}

}  // namespace wootz::cuda
