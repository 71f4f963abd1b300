#include "base/mapped.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace wootz {
namespace {

uintptr_t page_size() {
  static const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  return page;
}

// The deleter of a mapping, by which release_mapped() knows one.
struct Unmap {
  size_t size;
  void operator()(const void* data) const { ::munmap(const_cast<void*>(data), size); }
};

}  // namespace

Result<MappedFile> map_file(int file, size_t size) {
  if (size == 0) return MappedFile{};
  void* const data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  if (data == MAP_FAILED)
    return make_error(Code::kIo, "cannot map {} bytes: {}", size, std::generic_category().message(errno));
  return MappedFile{{static_cast<const std::byte*>(data), size}, std::shared_ptr<const void>(data, Unmap{size})};
}

void fetch_mapped(const std::shared_ptr<const void>& owner, std::span<const std::byte> bytes) {
  if (bytes.empty() || std::get_deleter<Unmap>(owner) == nullptr) return;
  const uintptr_t page = page_size(), begin = reinterpret_cast<uintptr_t>(bytes.data()) / page * page;
  const uintptr_t end = reinterpret_cast<uintptr_t>(bytes.data()) + bytes.size();
#if defined(MADV_POPULATE_READ)
  if (::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_READ) == 0) return;
#endif
  ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_WILLNEED);
}

void release_mapped(const std::shared_ptr<const void>& owner, std::span<const std::byte> bytes) {
  // Of a private mapping of a file that cannot be written to: the file still has every byte.
  if (bytes.empty() || std::get_deleter<Unmap>(owner) == nullptr) return;
  const uintptr_t page = page_size(), first = reinterpret_cast<uintptr_t>(bytes.data());
  const uintptr_t begin = (first + page - 1) / page * page, end = (first + bytes.size()) / page * page;
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
