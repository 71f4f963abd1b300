#include "backends/cuda/device/libcuda_stub.h"

#include <dlfcn.h>
#include <unistd.h>

#include <string>

#include "backends/cuda/device/driver.h"

namespace wootz::cuda {
namespace {

bool open_beside_us() {
  if (driver().ok()) return true;  // the real one: no stub is needed
  Dl_info here{};
  if (dladdr(reinterpret_cast<const void*>(&open_libcuda_stub), &here) == 0 || here.dli_fname == nullptr) return false;
  std::string folder = here.dli_fname;
  if (folder.find('/') == std::string::npos) {  // a program that was found in PATH
    char path[4096];
    const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
    if (length > 0) folder.assign(path, static_cast<size_t>(length));
  }
  folder.resize(folder.rfind('/') == std::string::npos ? 0 : folder.rfind('/') + 1);
  // Its soname is libcuda.so.1, by which cuDNN asks for it: a library that is open already is found by that.
  for (const char* where : {"", "../lib/", "../../lib/"})
    if (dlopen((folder + where + "libwootz_libcuda_stub.so").c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) return true;
  return false;
}

}  // namespace

bool open_libcuda_stub() {
  static const bool opened = open_beside_us();
  return opened;
}

}  // namespace wootz::cuda
