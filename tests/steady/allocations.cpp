// Counts what the process takes from the heap: this program's malloc stands before the C library's, for every library
// in the process, and operator new ends here too.
#include "steady/allocations.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>

namespace {
std::atomic<bool> g_counting{false};
std::atomic<long> g_count{0};
void note() {
  if (g_counting.load(std::memory_order_relaxed)) g_count.fetch_add(1, std::memory_order_relaxed);
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
}  // namespace wootz_test

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WOOTZ_HOOK extern "C" __attribute__((visibility("default")))
extern "C" void* __libc_malloc(size_t);            // NOLINT: the C library's names
extern "C" void* __libc_calloc(size_t, size_t);    // NOLINT
extern "C" void* __libc_realloc(void*, size_t);    // NOLINT
extern "C" void* __libc_memalign(size_t, size_t);  // NOLINT

WOOTZ_HOOK void* malloc(size_t n) {
  note();
  return __libc_malloc(n);
}
WOOTZ_HOOK void* calloc(size_t n, size_t size) {
  note();
  return __libc_calloc(n, size);
}
WOOTZ_HOOK void* realloc(void* old, size_t n) {
  note();
  return __libc_realloc(old, n);
}
WOOTZ_HOOK void* memalign(size_t alignment, size_t n) {
  note();
  return __libc_memalign(alignment, n);
}
WOOTZ_HOOK void* aligned_alloc(size_t alignment, size_t n) { return memalign(alignment, n); }
WOOTZ_HOOK int posix_memalign(void** to, size_t alignment, size_t n) {
  *to = memalign(alignment, n);
  return *to == nullptr ? ENOMEM : 0;
}
#endif
