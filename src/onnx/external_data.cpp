#include "onnx/external_data.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "onnx/text.h"

namespace wootz::importer {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& o) noexcept {
    std::swap(fd_, o.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }

 private:
  int fd_;
};

// The components of a relative path, "." left out.
Result<std::vector<std::string>> components(const std::string& path) {
  const std::string shown = printable(path);
  if (path.empty()) return invalid_argument("external data with an empty location");
  if (path.size() > limits::kMaxExternalPathBytes)
    return invalid_argument("external data location '{}' has {} bytes, the limit is {}", shown, path.size(),
                            limits::kMaxExternalPathBytes);
  if (path.find('\0') != std::string::npos) return invalid_argument("external data location '{}' has a NUL", shown);
  if (path[0] == '/') return invalid_argument("external data location '{}' is not relative to the model", shown);
  std::vector<std::string> parts;
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    std::string part = path.substr(at, end - at);
    if (part == "..") return invalid_argument("external data location '{}' has a '..'", shown);
    if (!part.empty() && part != ".") parts.push_back(std::move(part));
    at = end + 1;
  }
  if (parts.empty() || path.back() == '/') return invalid_argument("external data location '{}' names no file", shown);
  return parts;
}

std::string reason(int error) {
  switch (error) {
    case ELOOP: return "it is, or passes, a symbolic link";
    case EXDEV: return "it leaves the model's folder";
    default: return std::strerror(error);
  }
}

// The file below `dir` without following a link anywhere: in one call where the kernel can, else part by part.
Descriptor open_beneath(int dir, const std::vector<std::string>& parts, int* error) {
  std::string path;
  for (const std::string& part : parts) path += (path.empty() ? "" : "/") + part;
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const auto fd = static_cast<int>(::syscall(SYS_openat2, dir, path.c_str(), &how, sizeof how));
  *error = errno;
  if (fd >= 0 || (*error != ENOSYS && *error != EPERM && *error != E2BIG && *error != EINVAL)) return Descriptor(fd);
  // An older kernel, or a sandbox that does not know the call.
  Descriptor at(::fcntl(dir, F_DUPFD_CLOEXEC, 0));
  for (size_t i = 0; i < parts.size() && at.ok(); ++i) {
    const bool last = i + 1 == parts.size();
    const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | (last ? O_NONBLOCK | O_NOCTTY : O_DIRECTORY);
    at = Descriptor(::openat(at.get(), parts[i].c_str(), flags));
    *error = errno;
  }
  return at;
}

}  // namespace

Result<int64_t> parse_decimal(std::string_view text) {
  const auto refuse = [&] { return invalid_argument("'{}' is not a decimal number below 2^63", printable(text)); };
  if (text.empty() || text.size() > 19) return refuse();
  uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return refuse();
    value = value * 10 + static_cast<uint64_t>(c - '0');
  }
  if (value > static_cast<uint64_t>(INT64_MAX)) return refuse();
  return static_cast<int64_t>(value);
}

Result<MappedFile> ExternalFiles::map(const std::string& location) {
  if (const auto it = files_.find(location); it != files_.end()) return it->second;
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<std::string> parts, components(location));
  const std::string shown = printable(location);
  if (folder_.empty())
    return unsupported("external data '{}': the model was given without a folder to read from", shown);
  const Descriptor dir(::open(folder_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!dir.ok()) return make_error(Code::kIo, "the model's folder '{}': {}", printable(folder_), std::strerror(errno));
  int error = 0;
  Descriptor file;
  if (allow_links_) {
    file = Descriptor(::openat(dir.get(), location.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    error = errno;
  } else {
    file = open_beneath(dir.get(), parts, &error);
  }
  if (!file.ok()) return make_error(Code::kIo, "external data '{}': {}", shown, reason(error));
  struct stat info {};
  if (::fstat(file.get(), &info) != 0)
    return make_error(Code::kIo, "external data '{}': {}", shown, std::strerror(errno));
  if (!S_ISREG(info.st_mode)) return make_error(Code::kIo, "external data '{}': not a regular file", shown);
  if (!allow_links_ && info.st_nlink != 1)
    return make_error(Code::kIo, "external data '{}': the file has {} hard links, 1 is allowed", shown, info.st_nlink);
  Result<MappedFile> mapped = map_file(file.get(), static_cast<size_t>(info.st_size));
  if (!mapped.ok()) return mapped.status().with_prefix(fmt::format("external data '{}'", shown));
  return files_.emplace(location, std::move(mapped).value()).first->second;
}

Result<ExternalBytes> ExternalFiles::read(const ExternalLocation& where, int64_t bytes) {
  if (!where.location) return invalid_argument("external data without a location");
  const std::string shown = printable(*where.location);
  const auto number = [&](const char* key, const std::optional<std::string>& text,
                          int64_t fallback) -> Result<int64_t> {
    if (!text) return fallback;
    Result<int64_t> value = parse_decimal(*text);
    if (!value.ok()) return value.status().with_prefix(fmt::format("external data '{}': {}", shown, key));
    return value;
  };
  WOOTZ_ASSIGN_OR_RETURN(const int64_t offset, number("offset", where.offset, 0));
  WOOTZ_ASSIGN_OR_RETURN(const int64_t length, number("length", where.length, bytes));
  if (length != bytes)
    return invalid_argument("external data '{}': length {}, its type and shape take {} bytes", shown, length, bytes);
  WOOTZ_ASSIGN_OR_RETURN(const MappedFile file, map(*where.location));
  const auto size = static_cast<int64_t>(file.bytes.size());
  if (offset > size || bytes > size - offset)
    return invalid_argument("external data '{}': {} bytes at offset {} do not fit in the file of {} bytes", shown,
                            bytes, offset, size);
  return ExternalBytes{file.bytes.empty() ? nullptr : file.bytes.data() + offset, file.owner};
}

}  // namespace wootz::importer
