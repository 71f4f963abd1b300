// Where the threads of a gang (thread_pool.h) wait for each other many times: they spin, since what they wait for is
// short, and after a while let others have the processor.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace wootz {

class SpinBarrier {
 public:
  // How often a thread looks before it gives the processor away between looks.
  explicit constexpr SpinBarrier(int spins = 20000) : spins_(spins) {}

  // Returns when `count` threads have called it.
  void wait(int count) {
    if (count <= 1) return;
    const uint32_t phase = phase_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == count) {
      arrived_.store(0, std::memory_order_relaxed);
      phase_.store(phase + 1, std::memory_order_release);
      return;
    }
    for (int spins = 0; phase_.load(std::memory_order_acquire) == phase; ++spins) {
      if (spins >= spins_)
        std::this_thread::yield();
      else
        pause();
    }
  }

 private:
  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<uint32_t> phase_{0};
  const int spins_;
};

}  // namespace wootz
