#include "plan/write.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <new>
#include <system_error>

#include "plan/encode.h"
#include "plan/format.h"
#include "plan/verify.h"

namespace wootz {
namespace {

// A plan before it is laid out: its first part whole, its weights where the program has them.
struct Parts {
  std::vector<std::byte> front;  // header, metadata, zeros up to the weights
  std::vector<Piece> weights;
  size_t weights_bytes = 0;
};

void add_weights(const Program& program, const WeightsMap& map, std::vector<Piece>* pieces) {
  for (size_t i = 0; i < program.constants.size(); ++i) {
    const PlanConstant& c = program.constants[i];
    if (c.bytes != 0) pieces->push_back({map.offsets[i], {static_cast<const std::byte*>(c.data), c.bytes}});
  }
  for (size_t i = 0; i < program.native.size(); ++i)
    if (!program.native[i].bytes.empty()) pieces->push_back({map.native[i], program.native[i].bytes});
  for (size_t b = 0; b < program.bodies.size(); ++b) add_weights(program.bodies[b], map.bodies[b], pieces);
}

Result<Parts> make_parts(const Program& program) {
  namespace pf = plan_format;
  WOOTZ_RETURN_IF_ERROR(verify_program(program));
  Parts parts;
  WOOTZ_ASSIGN_OR_RETURN(const WeightsMap map, place_weights(program));
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<std::byte> metadata, encode_program(program, map));
  parts.weights_bytes = map.total;
  add_weights(program, map, &parts.weights);
  parts.front.resize(pf::align_up(sizeof(pf::Header) + metadata.size(), pf::kWeightsAlignment));
  std::copy(metadata.begin(), metadata.end(), parts.front.begin() + sizeof(pf::Header));
  const std::span<const std::byte> padded = std::span(parts.front).subspan(sizeof(pf::Header));
  const pf::Header header = pf::make_header(padded.size(), tree_digest(padded), parts.weights_bytes,
                                            tree_digest(parts.weights, parts.weights_bytes));
  std::memcpy(parts.front.data(), &header, sizeof(header));
  return parts;
}

Status io_error(const std::string& path, const char* what, int error) {
  return make_error(Code::kIo, "cannot {} '{}': {}", what, path, std::generic_category().message(error));
}

// Writes at the end of an open file and remembers the first failure.
class Output {
 public:
  Output(int fd, const std::string& path) : fd_(fd), path_(path) {}
  ~Output() {
    if (fd_ >= 0) ::close(fd_);
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  Status put(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd_, bytes.data(), std::min<size_t>(bytes.size(), size_t{1} << 30));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return io_error(path_, "write", n < 0 ? errno : ENOSPC);
      bytes = bytes.subspan(static_cast<size_t>(n));
    }
    return {};
  }
  Status put(const Parts& parts) {
    WOOTZ_RETURN_IF_ERROR(put(parts.front));
    static constexpr std::byte kZeros[plan_format::kBlobAlignment] = {};
    size_t at = 0;
    const auto fill_to = [&](size_t offset) {
      const Status status = put(std::span(kZeros).first(offset - at));
      at = offset;
      return status;
    };
    for (const Piece& piece : parts.weights) {
      WOOTZ_RETURN_IF_ERROR(fill_to(piece.offset));
      WOOTZ_RETURN_IF_ERROR(put(piece.bytes));
      at += piece.bytes.size();
    }
    return fill_to(parts.weights_bytes);
  }
  // close() reports what delayed writing could not.
  Status finish(bool sync) {
    if (sync && ::fsync(fd_) != 0) return io_error(path_, "write", errno);
    if (::close(std::exchange(fd_, -1)) != 0) return io_error(path_, "close", errno);
    return {};
  }

 private:
  int fd_;
  const std::string& path_;
};

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

Status replace_file(const Parts& parts, const std::string& path) {
  static std::atomic<unsigned> counter{0};
  const std::string temporary = fmt::format("{}.tmp-{}-{}", path, ::getpid(), counter.fetch_add(1));
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return io_error(temporary, "create", errno);
  Output out(fd, path);
  Status status = out.put(parts);
  if (status.ok()) status = out.finish(/*sync=*/true);
  if (status.ok() && ::rename(temporary.c_str(), path.c_str()) != 0) status = io_error(path, "replace", errno);
  if (!status.ok()) {
    ::unlink(temporary.c_str());
    return status;
  }
  // The new name survives a crash as well. Some file systems cannot sync a folder; the file itself is safe by then.
  if (const int folder = ::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); folder >= 0) {
    (void)::fsync(folder);
    ::close(folder);
  }
  return {};
}

}  // namespace

Result<std::vector<std::byte>> write_plan(const Program& program) {
  WOOTZ_ASSIGN_OR_RETURN(Parts parts, make_parts(program));
  std::vector<std::byte> file = std::move(parts.front);
  const size_t start = file.size();
  try {
    file.resize(start + parts.weights_bytes);
  } catch (const std::bad_alloc&) {
    return make_error(Code::kResourceExhausted, "plan: no memory for {} bytes", start + parts.weights_bytes);
  }
  for (const Piece& piece : parts.weights)
    std::memcpy(file.data() + start + piece.offset, piece.bytes.data(), piece.bytes.size());
  return file;
}

Status write_plan_file(const Program& program, const std::string& path) {
  WOOTZ_ASSIGN_OR_RETURN(const Parts parts, make_parts(program));
  struct stat info;
  const bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) return io_error(path, "write", EISDIR);
  if (exists && !S_ISREG(info.st_mode)) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return io_error(path, "open", errno);
    Output out(fd, path);
    WOOTZ_RETURN_IF_ERROR(out.put(parts));
    return out.finish(/*sync=*/false);
  }
  if (!exists) return replace_file(parts, path);
  // Behind a symbolic link it is the file that is replaced, not the link.
  char* real = ::realpath(path.c_str(), nullptr);
  if (real == nullptr) return io_error(path, "write", errno);
  const std::string target(real);
  std::free(real);
  return replace_file(parts, target);
}

}  // namespace wootz
