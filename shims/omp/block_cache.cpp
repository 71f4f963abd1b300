#include "shims/omp/block_cache.h"

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

namespace {

// All blocks lie in one range of addresses, by which operator delete knows them. Its pages hold blocks of one size
// each; a block of more than a page has whole pages. The range costs memory only where it was used.
constexpr size_t kRange = size_t{1} << 30, kPage = 4096;
constexpr size_t kLeast = 32, kClasses = 21;  // powers of two from 32 bytes to 32 MiB: packed operands of a product
struct Block {
  Block* next;
};

class Range {
 public:
  static Range& get() {
    static Range* range = new Range();  // never destroyed: blocks may come back while the process ends
    return *range;
  }
  bool owns(const void* p) const { return base_ != nullptr && p >= base_ && p < base_ + kRange; }
  size_t class_of(const void* p) const {
    return classes_[static_cast<size_t>(static_cast<const char*>(p) - base_) / kPage];
  }

  // A list of free blocks of the class; null when the range is used up.
  Block* more(size_t c) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (free_[c] != nullptr) return std::exchange(free_[c], nullptr);
    const size_t bytes = kLeast << c, pages = bytes <= kPage ? 1 : bytes / kPage;
    if (base_ == nullptr || pages > kRange / kPage - used_) return nullptr;
    char* first = base_ + used_ * kPage;
    if (mprotect(first, pages * kPage, PROT_READ | PROT_WRITE) != 0) return nullptr;  // counts as memory from here on
    classes_[used_] = static_cast<uint8_t>(c);  // of a large block only its address is ever looked up
    used_ += pages;
    Block* list = nullptr;
    for (size_t at = 0; at < pages * kPage; at += bytes) list = new (first + at) Block{list};
    return list;
  }
  void give_back(Block* list, size_t c) {
    const std::lock_guard<std::mutex> lock(mutex_);
    while (list != nullptr) {
      Block* next = list->next;
      list->next = free_[c];
      free_[c] = list;
      list = next;
    }
  }

 private:
  Range() {
    void* map = mmap(nullptr, kRange, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    base_ = map == MAP_FAILED ? nullptr : static_cast<char*>(map);
  }
  char* base_ = nullptr;
  std::mutex mutex_;
  size_t used_ = 0;
  Block* free_[kClasses] = {};
  uint8_t classes_[kRange / kPage] = {};
};

thread_local int t_depth = 0;
thread_local bool t_ended = false;  // the lists are gone, the thread is not
struct Lists {
  Block* free[kClasses] = {};
  ~Lists() {
    t_ended = true;
    for (size_t c = 0; c < kClasses; ++c) Range::get().give_back(free[c], c);
  }
};
thread_local Lists t_lists;

// Blocks are aligned to their size, up to a page's. Null: not in a scope, too large, or none left.
void* take(size_t bytes, size_t alignment) {
  if (t_depth == 0 || t_ended || alignment > kPage) return nullptr;
  size_t c = 0;
  while (c < kClasses && (kLeast << c < bytes || kLeast << c < alignment)) ++c;
  if (c == kClasses) return nullptr;
  Block*& list = t_lists.free[c];
  if (list == nullptr) list = Range::get().more(c);
  if (list == nullptr) return nullptr;
  Block* block = list;
  list = block->next;
  return block;
}

// Whether it was a block.
bool give(void* p) {
  Range& range = Range::get();
  if (!range.owns(p)) return false;
  const size_t c = range.class_of(p);
  auto* block = new (p) Block{nullptr};
  if (t_ended) {
    range.give_back(block, c);
    return true;
  }
  block->next = t_lists.free[c];
  t_lists.free[c] = block;
  return true;
}

}  // namespace

extern "C" {

void wootz_block_cache_begin() { ++t_depth; }
void wootz_block_cache_end() { --t_depth; }
bool wootz_block_cache_active() { return t_depth > 0; }

// What oneDNN calls for operator new and delete, posix_memalign and free.
__attribute__((visibility("default"))) void* wootz_Znwm(size_t bytes) {
  void* block = take(bytes, 1);
  return block != nullptr ? block : ::operator new(bytes);
}
__attribute__((visibility("default"))) void wootz_ZdlPv(void* p) {
  if (!give(p)) ::operator delete(p);
}
__attribute__((visibility("default"))) int wootz_posix_memalign(void** to, size_t alignment, size_t bytes) {
  *to = take(bytes, alignment);
  return *to != nullptr ? 0 : posix_memalign(to, alignment, bytes);
}
__attribute__((visibility("default"))) void wootz_free(void* p) {
  if (!give(p)) free(p);
}

}  // extern "C"
