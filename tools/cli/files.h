// Whole files in and out.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace wootz_cli {

// A failed operation: exit status 1, the text on stderr.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A device, a pipe, a folder: what is there and no regular file.
bool is_special(const std::string& path);
// Through a temporary name beside it: the file is there whole, or as it was before. Throws Failure, which names it.
void write_file(const std::string& path, const void* data, size_t size);
std::vector<char> read_file(const std::string& path);

}  // namespace wootz_cli
