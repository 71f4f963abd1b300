#include "tuner/measure/rotation.h"

#include <algorithm>

namespace wootz {
namespace {

// Of two caches' worth, one that replaces lines in any order still has a fifth when they are read again.
constexpr size_t kCaches = 2;
constexpr size_t kMost = size_t{256} << 20;
// Cores share a further cache, with others on their machine too: where a network's constants do not stay there, those
// of one layer come from memory. More than this takes longer to copy than it tells; and there are two such places, of
// which a build is not to take much more memory than it does otherwise.
constexpr size_t kHostMost = size_t{64} << 20, kPartOfNetwork = 5;
// Smaller ones come from memory in the time that a launch takes, whatever reads them; and take more copies.
constexpr size_t kPartOfCache = 128;

}  // namespace

std::string rotated_key(const std::string& problem_key) { return "constants from memory: " + problem_key; }

size_t cache_of(const Device& device, int threads) {
  const size_t bytes = device.cache_bytes();
  const int cores = device.describe().threads;
  return !device.host_memory() || threads <= 0 || threads >= cores
             ? bytes
             : bytes / static_cast<size_t>(cores) * static_cast<size_t>(threads);
}

ConstantRotation::ConstantRotation(std::shared_ptr<Device> device, size_t limit, int threads, size_t network)
    : device_(std::move(device)) {
  const size_t cache = device_ == nullptr ? 0 : cache_of(*device_, threads);
  bytes_ = std::min(kCaches * cache, kMost);
  if (device_ != nullptr && device_->host_memory())
    bytes_ = std::min({network / kPartOfNetwork, std::max(kHostMost, kCaches * cache), kMost});
  least_ = cache / kPartOfCache;
  if (bytes_ > limit || bytes_ <= cache) bytes_ = 0;  // it would stay in the cache
}

bool ConstantRotation::concerns(const Problem& problem) const {
  size_t constants = 0;
  for (const TensorDesc& t : problem.inputs)
    if (t.constant && t.dtype != DType::kInvalid) constants += dtype_bytes(t.dtype, t.dims.volume());
  return bytes_ > 0 && constants >= least_ && constants <= bytes_ / 2;
}

std::byte* ConstantRotation::memory(size_t place) {
  auto& memory = memory_[place];
  if (memory == nullptr && bytes_ > 0) {
    const Result<void*> made = device_->allocate(bytes_, 256);
    if (made.ok())
      memory = {*made, [device = device_](void* p) { device->free(p); }};
    else
      bytes_ = 0;
  }
  return static_cast<std::byte*>(memory.get());
}

}  // namespace wootz
