// What threads of Python's share beside its own objects: under a free-threaded Python no lock of the interpreter's
// keeps them apart.
#pragma once

#include <mutex>

namespace wootz_python {

// Nothing of Python's is called, and none of its objects goes, while the lock is held: either may come back here.
template <class T>
struct Shared {
  std::mutex mutex;
  T all;
};

}  // namespace wootz_python
