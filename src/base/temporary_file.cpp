#include "base/temporary_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace wootz {

Result<TemporaryFile> TemporaryFile::make(const TemporaryFiles& where, const std::string& name, FirstPlace first) {
  if (!where.in_memory && !where.in_directory)
    return unsupported("temporary files are allowed neither in memory nor in a directory (TempfileControlFlag)");
  const auto in_memory = [&] {
    const int file = ::memfd_create(name.c_str(), MFD_CLOEXEC);
    return TemporaryFile(file, fmt::format("/proc/self/fd/{}", file), false);
  };
  if (where.in_memory && (first == FirstPlace::kMemory || !where.in_directory)) {
    TemporaryFile made = in_memory();
    if (made.descriptor_ >= 0) return made;
    if (!where.in_directory)
      return make_error(Code::kIo, "no file can be made in memory: {}", std::generic_category().message(errno));
  }
  std::string path = fmt::format("{}/{}-XXXXXX", where.directory, name);
  const int file = ::mkostemp(path.data(), O_CLOEXEC);
  if (file < 0)
    return make_error(Code::kIo, "no file can be made in '{}': {}", where.directory,
                      std::generic_category().message(errno));
  return TemporaryFile(file, std::move(path), true);
}

TemporaryFile::TemporaryFile(TemporaryFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      path_(std::move(other.path_)),
      named_(std::exchange(other.named_, false)) {}

TemporaryFile::~TemporaryFile() {
  remove_name();
  if (descriptor_ >= 0) ::close(descriptor_);
}

void TemporaryFile::remove_name() {
  if (std::exchange(named_, false)) ::unlink(path_.c_str());
}

int TemporaryFile::release() { return std::exchange(descriptor_, -1); }

Status TemporaryFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(descriptor_, bytes.data(), std::min<size_t>(bytes.size(), size_t{1} << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return make_error(Code::kIo, "{}", std::generic_category().message(n < 0 ? errno : ENOSPC));
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return {};
}

}  // namespace wootz
