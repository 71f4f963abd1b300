// A kernel that an application brings along as machine code or PTX, and how a device's stream runs it.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/status.h"

namespace wootz {

struct KernelImage {
  std::string name, code;
  // What devices have made of it, by device: theirs alone.
  std::mutex mutex;
  std::map<const void*, std::shared_ptr<void>> loaded;
};

struct KernelLaunch {
  std::array<unsigned, 3> grid{1, 1, 1}, block{1, 1, 1};
  unsigned shared = 0;         // bytes
  void** arguments = nullptr;  // the address of each; eight bytes may be read there
};

// What a Stream that runs such kernels is too.
class KernelLauncher {
 public:
  virtual ~KernelLauncher() = default;
  virtual Status launch(KernelImage& image, const KernelLaunch& launch) = 0;
};

}  // namespace wootz
