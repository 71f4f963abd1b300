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

#include "backend/refit.h"
#include "plan/encode.h"
#include "plan/format.h"
#include "plan/verify.h"

namespace wootz {
namespace {

// A weight, or a piece of machine code, at its offset in the weights section.
struct Blob {
  size_t offset = 0, bytes = 0;
  const PlanConstant* constant = nullptr;  // null: machine code, or a constant of the recipe for refits
  std::span<const std::byte> code;
};

// A plan before its weights are made: they are where the program has them.
struct Draft {
  RawBytes front;  // header, metadata, zeros up to the weights
  Digest metadata;
  std::vector<Blob> blobs;  // by offset
  size_t weights_bytes = 0;
  Companion companion;
  Digest runtime{};
  std::span<const std::span<const std::byte>> runtime_pieces() const {
    using Pieces = std::span<const std::span<const std::byte>>;
    return companion.runtime == nullptr ? Pieces() : Pieces(companion.runtime->pieces);
  }
  size_t runtime_bytes() const { return companion.runtime == nullptr ? 0 : companion.runtime->bytes; }
  size_t bytes() const { return front.size() + weights_bytes + runtime_bytes(); }
};

void add_blobs(const Program& program, const WeightsMap& map, std::vector<Blob>* blobs) {
  for (size_t i = 0; i < program.constants.size(); ++i) {
    const PlanConstant& c = program.constants.items()[i];
    const bool elsewhere = !map.shared.empty() && map.shared[i] != 0;
    if (c.bytes != 0 && !program.stripped && !elsewhere) blobs->push_back({map.offsets[i], c.bytes, &c, {}});
  }
  for (size_t i = 0; i < program.native.size(); ++i) {
    const std::span<const std::byte> code = program.native[i].bytes;
    if (!code.empty()) blobs->push_back({map.native[i], code.size(), nullptr, code});
  }
  for (size_t b = 0; b < program.bodies.size(); ++b) add_blobs(program.bodies[b], map.bodies[b], blobs);
  for (size_t i = 0; i < map.refit.size(); ++i) {
    const RefitConstant& c = program.refit->constants[i];
    if (map.refit_shared[i] || c.bytes == 0) continue;
    blobs->push_back({map.refit[i], c.bytes, nullptr, {static_cast<const std::byte*>(c.data), c.bytes}});
  }
}

Result<Draft> make_draft(const Program& program, const Companion& companion) {
  namespace pf = plan_format;
  WOOTZ_RETURN_IF_ERROR(verify_program(program));
  Draft draft;
  draft.companion = companion;
  WOOTZ_ASSIGN_OR_RETURN(const WeightsMap map, place_weights(program));
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<std::byte> metadata, encode_program(program, map));
  draft.weights_bytes = map.total;
  add_blobs(program, map, &draft.blobs);
  draft.front.resize(pf::align_up(sizeof(pf::Header) + metadata.size(), pf::kWeightsAlignment));
  const std::span<std::byte> padded = std::span(draft.front).subspan(sizeof(pf::Header));
  std::copy(metadata.begin(), metadata.end(), padded.begin());
  std::fill(padded.begin() + static_cast<ptrdiff_t>(metadata.size()), padded.end(), std::byte{0});
  draft.metadata = tree_digest(padded);
  TreeDigest runtime;
  for (const std::span<const std::byte> piece : draft.runtime_pieces()) runtime.add(piece);
  draft.runtime = runtime.finish();
  return draft;
}

void put_header(const Digest& weights, Draft* draft) {
  const plan_format::Header header = plan_format::make_header(
      {draft->front.size() - sizeof(plan_format::Header), draft->metadata}, {draft->weights_bytes, weights},
      draft->companion.writer, {draft->runtime_bytes(), draft->runtime});
  std::memcpy(draft->front.data(), &header, sizeof(header));
}

// The weights section from its first byte to its last. One weight is in memory at a time.
Status pour_weights(const Draft& draft, const PlanSink& sink) {
  static constexpr std::byte kZeros[plan_format::kBlobAlignment] = {};
  RawBytes scratch;
  size_t at = 0;
  const auto fill_to = [&](size_t offset) {
    const Status status = offset == at ? Status() : sink(std::span(kZeros).first(offset - at));
    at = offset;
    return status;
  };
  for (const Blob& blob : draft.blobs) {
    WOOTZ_RETURN_IF_ERROR(fill_to(blob.offset));
    std::span<const std::byte> bytes = blob.code;
    if (blob.constant != nullptr) {
      WOOTZ_ASSIGN_OR_RETURN(bytes, bytes_of(*blob.constant, &scratch));
    }
    WOOTZ_RETURN_IF_ERROR(sink(bytes));
    if (blob.constant != nullptr) release_pages(*blob.constant);
    at += blob.bytes;
  }
  return fill_to(draft.weights_bytes);
}

Status pour_runtime(const Draft& draft, const PlanSink& sink) {
  for (const std::span<const std::byte> piece : draft.runtime_pieces()) WOOTZ_RETURN_IF_ERROR(sink(piece));
  return {};
}

Status io_error(const std::string& path, const char* what, int error) {
  return make_error(Code::kIo, "'{}' cannot be {}: {}", path, what, std::generic_category().message(error));
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
      if (n <= 0) return io_error(path_, "written", n < 0 ? errno : ENOSPC);
      bytes = bytes.subspan(static_cast<size_t>(n));
      at_ += static_cast<size_t>(n);
    }
    start_writing();
    return {};
  }
  Status go_to(size_t offset) {
    if (::lseek(fd_, static_cast<off_t>(offset), SEEK_SET) < 0) return io_error(path_, "written", errno);
    at_ = started_ = offset;
    return {};
  }
  // close() reports what delayed writing could not.
  Status finish(bool sync) {
    if (sync && ::fsync(fd_) != 0) return io_error(path_, "written", errno);
    if (::close(std::exchange(fd_, -1)) != 0) return io_error(path_, "closed", errno);
    return {};
  }

 private:
  // Sends what was put on its way to the disk while more is made, so that finish() has little to wait for.
  void start_writing() {
    constexpr size_t kWorth = size_t{16} << 20;
    if (at_ - started_ < kWorth) return;
    (void)::sync_file_range(fd_, static_cast<off_t>(started_), static_cast<off_t>(at_ - started_),
                            SYNC_FILE_RANGE_WRITE);
    started_ = at_;
  }

  int fd_;
  const std::string& path_;
  size_t at_ = 0, started_ = 0;
};

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

// The weights first: the front holds their digest.
Status put_plan(Draft* draft, Output* out) {
  TreeDigest digest;
  WOOTZ_RETURN_IF_ERROR(out->go_to(draft->front.size()));
  WOOTZ_RETURN_IF_ERROR(pour_weights(*draft, [&](std::span<const std::byte> bytes) {
    digest.add(bytes);
    return out->put(bytes);
  }));
  put_header(digest.finish(), draft);
  WOOTZ_RETURN_IF_ERROR(pour_runtime(*draft, [&](std::span<const std::byte> bytes) { return out->put(bytes); }));
  WOOTZ_RETURN_IF_ERROR(out->go_to(0));
  return out->put(draft->front);
}

// From the first byte to the last.
Status stream_plan(Draft* draft, const PlanSink& sink) {
  TreeDigest digest;
  WOOTZ_RETURN_IF_ERROR(pour_weights(*draft, [&](std::span<const std::byte> bytes) {
    digest.add(bytes);
    return Status();
  }));
  put_header(digest.finish(), draft);
  WOOTZ_RETURN_IF_ERROR(sink(draft->front));
  WOOTZ_RETURN_IF_ERROR(pour_weights(*draft, sink));
  return pour_runtime(*draft, sink);
}

Status replace_file(Draft* draft, const std::string& path) {
  static std::atomic<unsigned> counter{0};
  const std::string temporary = fmt::format("{}.tmp-{}-{}", path, ::getpid(), counter.fetch_add(1));
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return io_error(temporary, "created", errno);
  Output out(fd, path);
  Status status = put_plan(draft, &out);
  if (status.ok()) status = out.finish(/*sync=*/true);
  if (status.ok() && ::rename(temporary.c_str(), path.c_str()) != 0) status = io_error(path, "replaced", errno);
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

Result<RawBytes> write_plan(const Program& program, const Companion& companion) {
  WOOTZ_ASSIGN_OR_RETURN(Draft draft, make_draft(program, companion));
  const size_t start = draft.front.size();
  RawBytes file;
  try {
    file.resize(draft.bytes());
  } catch (const std::bad_alloc&) {
    return make_error(Code::kResourceExhausted, "plan: no memory for {} bytes", draft.bytes());
  }
  const std::span<std::byte> weights = std::span(file).subspan(start, draft.weights_bytes);
  size_t end = 0;
  for (const Blob& blob : draft.blobs) {
    std::fill(weights.begin() + static_cast<ptrdiff_t>(end), weights.begin() + static_cast<ptrdiff_t>(blob.offset),
              std::byte{0});
    const std::span<std::byte> to = weights.subspan(blob.offset, blob.bytes);
    if (blob.constant != nullptr && blob.constant->make) {
      WOOTZ_RETURN_IF_ERROR(blob.constant->make(to));
    } else {
      std::memcpy(to.data(), blob.constant == nullptr ? blob.code.data() : blob.constant->data, to.size());
      if (blob.constant != nullptr) release_pages(*blob.constant);
    }
    end = blob.offset + blob.bytes;
  }
  std::fill(weights.begin() + static_cast<ptrdiff_t>(end), weights.end(), std::byte{0});
  put_header(tree_digest(weights), &draft);
  std::copy(draft.front.begin(), draft.front.end(), file.begin());
  auto* at = file.data() + start + draft.weights_bytes;
  for (const std::span<const std::byte> piece : draft.runtime_pieces()) at = std::copy(piece.begin(), piece.end(), at);
  return file;
}

Status write_plan_to(const Program& program, const PlanSink& sink, const Companion& companion) {
  WOOTZ_ASSIGN_OR_RETURN(Draft draft, make_draft(program, companion));
  return stream_plan(&draft, sink);
}

Status write_plan_file(const Program& program, const std::string& path, size_t* bytes, const Companion& companion) {
  WOOTZ_ASSIGN_OR_RETURN(Draft draft, make_draft(program, companion));
  if (bytes != nullptr) *bytes = draft.bytes();
  struct stat info;
  const bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) return io_error(path, "written", EISDIR);
  if (exists && !S_ISREG(info.st_mode)) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return io_error(path, "opened", errno);
    Output out(fd, path);
    WOOTZ_RETURN_IF_ERROR(stream_plan(&draft, [&](std::span<const std::byte> bytes) { return out.put(bytes); }));
    return out.finish(/*sync=*/false);
  }
  if (!exists) return replace_file(&draft, path);
  // At a symbolic link it is the file that is replaced, not the link.
  char* real = ::realpath(path.c_str(), nullptr);
  if (real == nullptr) return io_error(path, "written", errno);
  const std::string target(real);
  std::free(real);
  return replace_file(&draft, target);
}

}  // namespace wootz
