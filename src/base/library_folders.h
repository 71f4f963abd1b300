// Folders to look for shared libraries in that are opened at run time, beyond those that a process is known to have: an
// application's, or the packages of a Python environment.
#pragma once

#include <string>
#include <vector>

namespace wootz {

// Adds one, for what is opened from now on. One that is there already is not added again.
void add_library_folder(const std::string& folder);
// In the order in which they were added.
std::vector<std::string> added_library_folders();

}  // namespace wootz
