#include "base/beside.h"

#include <dlfcn.h>
#include <unistd.h>

namespace wootz {

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
  return {folder, folder + "../", folder + "../lib/", folder + "../../lib/"};
}

}  // namespace wootz
