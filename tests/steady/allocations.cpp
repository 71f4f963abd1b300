// Counts what the process takes from the heap: this program's malloc stands before the C library's, for every library
// in the process, and operator new ends here too.
#include "steady/allocations.h"

#include <dlfcn.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace {
std::atomic<bool> g_counting{false};
std::atomic<long> g_count{0}, g_live{0};
std::atomic<long> g_first{0}, g_last{0}, g_failed{0};  // those that fail, numbered as g_count
thread_local int t_own = 0;

// Does oneDNN ask?
bool exempt(const void* caller) {
  Dl_info info;
  return dladdr(caller, &info) != 0 && info.dli_fname != nullptr && std::strstr(info.dli_fname, "dnnl") != nullptr;
}

// Notes an allocation; true when it is to fail.
[[maybe_unused]] bool fails(const void* caller) {
  if (t_own > 0 || !g_counting.load(std::memory_order_relaxed)) return false;
  const long number = g_count.fetch_add(1, std::memory_order_relaxed) + 1;
  if (number < g_first.load(std::memory_order_relaxed) || number > g_last.load(std::memory_order_relaxed)) return false;
  if (exempt(caller)) return false;
  g_failed.fetch_add(1, std::memory_order_relaxed);
  errno = ENOMEM;
  return true;
}
[[maybe_unused]] void* noted(void* block) {
  if (block != nullptr) g_live.fetch_add(1, std::memory_order_relaxed);
  return block;
}
}  // namespace

namespace wootz_test {
void count_allocations() {
  g_count = 0;
  g_counting = true;
}
long allocations_counted() {
  g_counting = false;
  return g_count;
}
long live_allocations() { return g_live; }

void fail_allocations(long first, long last) {
  g_first = first == 0 ? 1 : first;
  g_last = first == 0 ? 0 : last;
  g_failed = 0;
  count_allocations();
}
long allocations_failed() { return g_failed; }

OwnAllocations::OwnAllocations() { ++t_own; }
OwnAllocations::~OwnAllocations() { --t_own; }
}  // namespace wootz_test

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WOOTZ_HOOK extern "C" __attribute__((visibility("default")))
extern "C" void* __libc_malloc(size_t);            // NOLINT: the C library's names
extern "C" void* __libc_calloc(size_t, size_t);    // NOLINT
extern "C" void* __libc_realloc(void*, size_t);    // NOLINT
extern "C" void* __libc_memalign(size_t, size_t);  // NOLINT
extern "C" void __libc_free(void*);                // NOLINT

WOOTZ_HOOK void* malloc(size_t n) { return fails(__builtin_return_address(0)) ? nullptr : noted(__libc_malloc(n)); }
WOOTZ_HOOK void* calloc(size_t n, size_t size) {
  return fails(__builtin_return_address(0)) ? nullptr : noted(__libc_calloc(n, size));
}
WOOTZ_HOOK void* realloc(void* old, size_t n) {
  if (n != 0 && fails(__builtin_return_address(0))) return nullptr;
  void* const block = __libc_realloc(old, n);
  if (old == nullptr) return noted(block);
  if (n == 0) g_live.fetch_sub(1, std::memory_order_relaxed);
  return block;
}
WOOTZ_HOOK void* memalign(size_t alignment, size_t n) {
  return fails(__builtin_return_address(0)) ? nullptr : noted(__libc_memalign(alignment, n));
}
WOOTZ_HOOK void* aligned_alloc(size_t alignment, size_t n) {
  return fails(__builtin_return_address(0)) ? nullptr : noted(__libc_memalign(alignment, n));
}
WOOTZ_HOOK int posix_memalign(void** to, size_t alignment, size_t n) {
  void* const block = fails(__builtin_return_address(0)) ? nullptr : noted(__libc_memalign(alignment, n));
  if (block == nullptr) return ENOMEM;
  *to = block;
  return 0;
}
WOOTZ_HOOK void free(void* block) {
  if (block != nullptr) g_live.fetch_sub(1, std::memory_order_relaxed);
  __libc_free(block);
}
#endif
