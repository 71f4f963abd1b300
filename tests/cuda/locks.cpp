// Counts mutexes locked by the process: this program's pthread_mutex_lock stands before the C library's.
#include "cuda/locks.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>

namespace {
std::atomic<bool> g_counting{false};
std::atomic<long> g_count{0};
using Lock = int (*)(pthread_mutex_t*);
std::atomic<Lock> g_real{nullptr};
}  // namespace

namespace wootz_test {
void count_locks() {
  g_count = 0;
  g_counting = true;
}
long locks_counted() {
  g_counting = false;
  return g_count;
}
}  // namespace wootz_test

extern "C" __attribute__((visibility("default"))) int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  Lock real = g_real.load(std::memory_order_relaxed);
  if (real == nullptr) {
    real = reinterpret_cast<Lock>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
    g_real.store(real, std::memory_order_relaxed);
  }
  if (g_counting.load(std::memory_order_relaxed)) g_count.fetch_add(1, std::memory_order_relaxed);
  return real(mutex);
}
