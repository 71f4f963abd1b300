// What each stage of a build does to the memory of the process and of the device, as lines in the log.
#pragma once

#include <string>

#include "build/context.h"

namespace wootz {

class MemoryMonitor {
 public:
  explicit MemoryMonitor(const BuildContext& context) : context_(context) {}
  // Tells what has changed since the last call, where the settings ask for it.
  void after(const char* stage);

 private:
  struct Use {
    int64_t host = 0;
    int64_t device = -1;  // taken, by any process; -1: the device is elsewhere or has no memory of its own
  };
  Use now() const;

  const BuildContext& context_;
  Use before_ = {};
  bool begun_ = false;
};

}  // namespace wootz
