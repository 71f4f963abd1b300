// External tensor data: the one function that opens a file named by a model.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/mapped.h"
#include "base/status.h"

namespace wootz::importer {

// What the model says of a tensor kept in another file, as text.
struct ExternalLocation {
  std::optional<std::string> location, offset, length;
};

struct ExternalBytes {
  const std::byte* data = nullptr;
  std::shared_ptr<const void> owner;  // the mapping
};

// Digits only, no sign, no spaces, at most INT64_MAX.
Result<int64_t> parse_decimal(std::string_view text);

// Maps files below one folder. A location is refused when it is absolute, empty, has a ".." component or a NUL, leaves
// the folder, passes a symbolic link, or names what is not a regular file with exactly one link (unless links are
// allowed). All checks are on the open descriptor.
class ExternalFiles {
 public:
  ExternalFiles(std::string folder, bool allow_links) : folder_(std::move(folder)), allow_links_(allow_links) {}

  // `bytes` at the place given: offset + bytes must lie in the file, and a stated length must equal `bytes`.
  Result<ExternalBytes> read(const ExternalLocation& location, int64_t bytes);

 private:
  Result<MappedFile> map(const std::string& location);
  std::string folder_;
  bool allow_links_;
  std::unordered_map<std::string, MappedFile> files_;  // by location
};

}  // namespace wootz::importer
