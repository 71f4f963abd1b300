#include "base/json.h"

#include <array>
#include <bitset>
#include <cstdlib>
#include <mutex>

namespace wootz {
namespace {

constexpr size_t kUnit = 64, kUnits = 8192;

// 512 KiB of units, the first free run of which is taken.
class Reserve {
 public:
  bool has(const void* block) const {
    const auto* at = static_cast<const std::byte*>(block);
    return at >= memory_.data() && at < memory_.data() + memory_.size();
  }
  void* take(size_t bytes) {
    const size_t wanted = (bytes + kUnit - 1) / kUnit + 1;  // its header is a unit of its own
    if (wanted > kUnits) return nullptr;
    const std::lock_guard<std::mutex> lock(mutex_);
    size_t run = 0;
    for (size_t u = 0; u < kUnits; ++u) {
      run = used_[u] ? 0 : run + 1;
      if (run < wanted) continue;
      const size_t first = u + 1 - wanted;
      for (size_t k = first; k <= u; ++k) used_[k] = true;
      std::byte* const header = memory_.data() + first * kUnit;
      *reinterpret_cast<size_t*>(header) = wanted;
      return header + kUnit;
    }
    return nullptr;
  }
  void give_back(void* block) {
    std::byte* const header = static_cast<std::byte*>(block) - kUnit;
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto first = static_cast<size_t>(header - memory_.data()) / kUnit;
    const size_t count = *reinterpret_cast<const size_t*>(header);
    for (size_t k = first; k < first + count; ++k) used_[k] = false;
  }

 private:
  std::mutex mutex_;
  std::bitset<kUnits> used_;
  alignas(kUnit) std::array<std::byte, kUnits* kUnit> memory_ = {};
};

Reserve& reserve() {
  static constinit Reserve shared;  // untouched pages take no memory
  return shared;
}

}  // namespace

void* json_allocate(size_t bytes) {
  if (void* const block = std::malloc(bytes != 0 ? bytes : 1); block != nullptr) return block;
  void* const block = reserve().take(bytes);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void json_free(void* block) noexcept {
  if (reserve().has(block)) return reserve().give_back(block);
  std::free(block);
}

}  // namespace wootz
