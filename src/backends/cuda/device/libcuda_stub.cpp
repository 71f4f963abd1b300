#include "backends/cuda/device/libcuda_stub.h"

#include <dlfcn.h>

#include <string>

#include "backends/cuda/device/driver.h"
#include "base/beside.h"

namespace wootz::cuda {
namespace {

bool open_beside_us() {
  if (driver().ok()) return true;  // the real one: no stub is needed
  // Its soname is libcuda.so.1, by which cuDNN asks for it: a library that is open already is found by that.
  for (const std::string& folder : folders_beside(reinterpret_cast<const void*>(&open_libcuda_stub)))
    if (dlopen((folder + "libwootz_libcuda_stub.so").c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) return true;
  return false;
}

}  // namespace

bool open_libcuda_stub() {
  static const bool opened = open_beside_us();
  return opened;
}

}  // namespace wootz::cuda
