#include "base/mapped.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <system_error>

namespace wootz {
namespace {

uintptr_t page_size() {
  static const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  return page;
}

// Where mappings of map_file() lie: a reader of a weight knows its address, but not always that it is mapped from a
// file.
class Mappings {
 public:
  static Mappings& all() {
    static Mappings* const made = new Mappings();  // mappings may outlive static objects
    return *made;
  }
  void add(const void* data, size_t size) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ends_[reinterpret_cast<uintptr_t>(data)] = reinterpret_cast<uintptr_t>(data) + size;
  }
  void remove(const void* data) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ends_.erase(reinterpret_cast<uintptr_t>(data));
  }
  bool hold(uintptr_t begin, uintptr_t end) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto next = ends_.upper_bound(begin);
    return next != ends_.begin() && end <= std::prev(next)->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<uintptr_t, uintptr_t> ends_;  // by where they begin
};

struct Range {
  explicit Range(std::span<const std::byte> bytes)
      : begin(reinterpret_cast<uintptr_t>(bytes.data())), end(begin + bytes.size()) {}
  bool in_a_file() const { return begin < end && Mappings::all().hold(begin, end); }
  uintptr_t begin, end;
};

}  // namespace

Result<MappedFile> map_file(int file, size_t size) {
  if (size == 0) return MappedFile{};
  void* const data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  if (data == MAP_FAILED)
    return make_error(Code::kIo, "cannot map {} bytes: {}", size, std::generic_category().message(errno));
  Mappings::all().add(data, size);
  const auto unmap = [size](void* memory) {
    Mappings::all().remove(memory);
    ::munmap(memory, size);
  };
  return MappedFile{{static_cast<const std::byte*>(data), size}, std::shared_ptr<void>(data, unmap)};
}

Result<MappedCopies> map_copies(const TemporaryFiles& where, std::span<const std::span<const std::byte>> pieces) {
  WOOTZ_ASSIGN_OR_RETURN(TemporaryFile file, TemporaryFile::make(where, "wootz-weights", FirstPlace::kDirectory));
  file.remove_name();
  const std::vector<std::byte> zeros(page_size());
  size_t total = 0;
  Status status;
  for (const std::span<const std::byte> piece : pieces) {
    const size_t padding = (zeros.size() - piece.size() % zeros.size()) % zeros.size();
    total += piece.size() + padding;
    if (status.ok()) status = file.write(piece);
    if (status.ok()) status = file.write(std::span(zeros).first(padding));
  }
  const Result<MappedFile> mapped =
      status.ok() ? map_file(file.descriptor(), total) : Result<MappedFile>(std::move(status));
  if (!mapped.ok()) return mapped.status().with_prefix(fmt::format("{} bytes in '{}'", total, file.path()));
  MappedCopies copies{{}, mapped->owner};
  size_t at = 0;
  for (const std::span<const std::byte> piece : pieces) {
    copies.pieces.push_back(mapped->bytes.subspan(at, piece.size()));
    at += (piece.size() + zeros.size() - 1) / zeros.size() * zeros.size();
  }
  return copies;
}

Result<MappedFile> map_zeros(size_t size) {
  if (size == 0) return MappedFile{};
  void* const data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED)
    return make_error(Code::kResourceExhausted, "no address space for {} zeros: {}", size,
                      std::generic_category().message(errno));
  return MappedFile{{static_cast<const std::byte*>(data), size},
                    std::shared_ptr<void>(data, [size](void* memory) { ::munmap(memory, size); })};
}

void fetch_mapped(std::span<const std::byte> bytes) {
  const Range range(bytes);
  if (!range.in_a_file()) return;
  const uintptr_t begin = range.begin / page_size() * page_size();
#if defined(MADV_POPULATE_READ)
  if (::madvise(reinterpret_cast<void*>(begin), range.end - begin, MADV_POPULATE_READ) == 0) return;
#endif
  ::madvise(reinterpret_cast<void*>(begin), range.end - begin, MADV_WILLNEED);
}

void expect_mapped(std::span<const std::byte> bytes) {
  const Range range(bytes);
  if (!range.in_a_file()) return;
  const uintptr_t begin = range.begin / page_size() * page_size();
  ::madvise(reinterpret_cast<void*>(begin), range.end - begin, MADV_WILLNEED);
}

bool can_release(std::span<const std::byte> bytes) { return Range(bytes).in_a_file(); }

void release_mapped(std::span<const std::byte> bytes) {
  // Of a private mapping of a file that cannot be written to: the file still has every byte.
  const Range range(bytes);
  if (!range.in_a_file()) return;
  const uintptr_t page = page_size(), begin = (range.begin + page - 1) / page * page, end = range.end / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

bool is_mapped(const void* address) {
  const auto number = reinterpret_cast<uintptr_t>(address);
  if (number < page_size()) return false;
  unsigned char resident = 0;
  // Only this answer means that nothing is mapped; a system that does not know says something else.
  return ::mincore(reinterpret_cast<void*>(number / page_size() * page_size()), 1, &resident) == 0 || errno != ENOMEM;
}

}  // namespace wootz
