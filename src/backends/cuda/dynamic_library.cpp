#include "backends/cuda/dynamic_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <sstream>
#include <vector>

namespace wootz::cuda {

Result<void*> open_library(std::initializer_list<const char*> names) {
  std::vector<std::string> folders{""};
  if (const char* path = std::getenv("WOOTZ_CUDA_PATH")) {
    std::istringstream list(path);
    for (std::string folder; std::getline(list, folder, ':');)
      if (!folder.empty()) folders.push_back(folder + "/");
  }
  folders.emplace_back("/usr/local/cuda/lib64/");
  folders.emplace_back("/usr/local/cuda/lib/");
  std::string tried;
  for (const char* name : names) {
    for (const std::string& folder : folders)
      if (void* library = dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    tried += (tried.empty() ? "" : ", ") + std::string(name);
  }
  return unsupported(
      "no {} on this machine (looked where the system looks, in WOOTZ_CUDA_PATH, in /usr/local/cuda/lib64 "
      "and in /usr/local/cuda/lib)",
      tried);
}

void* find_symbol(void* library, const char* name) { return dlsym(library, name); }

}  // namespace wootz::cuda
