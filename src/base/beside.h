// Files that ship with the library or program that this code is part of.
#pragma once

#include <string>
#include <vector>

namespace wootz {

// Folders, each with a slash at its end, in which they may be: that of the file whose code `address` is, then the
// others that a build, an installation (`lib`, `lib/<architecture>` or `lib64`) and Python's package have. Empty: the
// file is unknown.
std::vector<std::string> folders_beside(const void* address);

}  // namespace wootz
