// Files that are of no use after the process: in memory, or in a folder.
#pragma once

#include <span>
#include <string>

#include "base/status.h"

namespace wootz {

// Where they may be made.
struct TemporaryFiles {
  bool in_memory = true, in_directory = true;
  std::string directory;
};
enum class FirstPlace { kMemory, kDirectory };

// An open file. Its path goes with this object; the file itself with the last descriptor and mapping of it.
class TemporaryFile {
 public:
  // At this place, or at the other where this one is not allowed (or has no such files). Errors: neither is; kIo with
  // the system's reason.
  static Result<TemporaryFile> make(const TemporaryFiles& where, const std::string& name, FirstPlace first);
  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile();

  int descriptor() const { return descriptor_; }
  // Of a file in memory, as long as the descriptor is open.
  const std::string& path() const { return path_; }
  // The caller closes it from now on.
  int release();
  // It has no name from now on.
  void remove_name();
  // Errors: kIo.
  Status write(std::span<const std::byte> bytes);

 private:
  TemporaryFile(int descriptor, std::string path, bool named)
      : descriptor_(descriptor), path_(std::move(path)), named_(named) {}

  int descriptor_;
  std::string path_;
  bool named_;  // in a folder
};

}  // namespace wootz
