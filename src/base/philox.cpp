#include "base/philox.h"

#include <atomic>
#include <bit>
#include <random>

namespace wootz {

int64_t fresh_random_key() {
  static const uint64_t first = [] {
    std::random_device system;
    return uint64_t{system()} << 32 | system();
  }();
  static std::atomic<uint64_t> next{0};
  return std::bit_cast<int64_t>(first + next.fetch_add(1, std::memory_order_relaxed));
}

}  // namespace wootz
