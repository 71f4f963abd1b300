#include "base/beside.h"

#include <dlfcn.h>
#include <unistd.h>

namespace wootz {
namespace {

// Debian's folder of libraries for this processor ("lib/x86_64-linux-gnu/"); empty: the system has none.
constexpr const char* kArchitectureFolder = WOOTZ_ARCHITECTURE_FOLDER;

}  // namespace

std::vector<std::string> folders_beside(const void* address) {
  Dl_info here{};
  if (::dladdr(address, &here) == 0 || here.dli_fname == nullptr) return {};
  std::string folder = here.dli_fname;
  if (folder.find('/') == std::string::npos) {  // a program that was found in PATH
    char path[4096];
    const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
    if (length > 0) folder.assign(path, static_cast<size_t>(length));
  }
  folder.resize(folder.rfind('/') == std::string::npos ? 0 : folder.rfind('/') + 1);
  std::vector<std::string> folders{folder, folder + "../"};
  for (const char* up : {"../", "../../"})
    for (const char* lib : {"lib/", kArchitectureFolder, "lib64/"})
      if (*lib != '\0') folders.push_back(folder + up + lib);
  return folders;
}

}  // namespace wootz
