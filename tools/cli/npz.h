// NumPy's .npz files: archives of .npy files, as numpy.savez writes them.
#pragma once

#include <map>
#include <string>

#include "npy.h"

namespace wootz_cli {

// The arrays by name. Errors (missing file, no archive, a member that is compressed or no array) are thrown as
// std::runtime_error naming the file and the member.
std::map<std::string, Array> read_npz(const std::string& path);

}  // namespace wootz_cli
