// Libraries that a backend opens at run time: what it found, and what it goes without.
#pragma once

#include <string>
#include <vector>

namespace wootz {

struct LibraryState {
  std::string name;       // "cuDNN"
  std::string version;    // empty: it cannot be opened
  std::string missing;    // why not
  std::string without;    // what follows, and what to do about it; empty: nothing that a build should warn of
  bool required = false;  // nothing can be built without it
};

}  // namespace wootz
