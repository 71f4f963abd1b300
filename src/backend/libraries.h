// Libraries that a backend opens at run time: what it found, and what it goes without.
#pragma once

#include <string>
#include <vector>

namespace wootz {

struct Backend;

struct LibraryState {
  std::string name;       // "cuDNN"
  std::string version;    // empty: it cannot be opened
  std::string missing;    // why not
  std::string without;    // what follows, and what to do about it; empty: nothing that a build should warn of
  bool required = false;  // nothing can be built without it
};

// Those of a backend, opened by this call if they were not: for a device at hand, or one that is elsewhere.
std::vector<LibraryState> backend_libraries(const Backend& backend, bool elsewhere);

}  // namespace wootz
