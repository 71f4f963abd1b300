#include "api/timing_cache.h"

#include <cstring>

#include "api/runtime/host_memory.h"
#include "api/runtime/made_here.h"

namespace wootz::api {

namespace {

TimingCache::ProblemId to_id(const nvinfer1::TimingCacheKey& key) {
  TimingCache::ProblemId id;
  static_assert(sizeof(key.data) == std::tuple_size_v<TimingCache::ProblemId>);
  std::memcpy(id.data(), key.data, id.size());
  return id;
}

}  // namespace

nvinfer1::IHostMemory* TimingCacheImpl::serialize() const noexcept {
  return attempt_or<nvinfer1::IHostMemory*>(
      reporter_, "ITimingCache::serialize", nullptr,
      [&]() -> Result<nvinfer1::IHostMemory*> { return new HostMemory(cache_->serialize()); });
}

bool TimingCacheImpl::combine(const nvinfer1::ITimingCache& inputCache, bool ignoreMismatch) noexcept {
  return attempt(reporter_, "ITimingCache::combine", [&]() -> Status {
    const auto* other = made_here<TimingCacheImpl>(&inputCache);
    if (other == nullptr) return invalid_argument("the other cache was not made by this library");
    if (other == this) return Status();
    return cache_->combine(other->cache(), ignoreMismatch);
  });
}

bool TimingCacheImpl::reset() noexcept {
  return attempt(reporter_, "ITimingCache::reset", [&]() -> Status {
    cache_->reset();
    return Status();
  });
}

int64_t TimingCacheImpl::queryKeys(nvinfer1::TimingCacheKey* keyBuffer, int64_t capacity) const noexcept {
  return attempt_or(reporter_, "ITimingCache::queryKeys", int64_t{-1}, [&]() -> Result<int64_t> {
    if (capacity < 0 || (keyBuffer == nullptr && capacity > 0))
      return invalid_argument("room for {} keys at {}", capacity, static_cast<const void*>(keyBuffer));
    const std::vector<TimingCache::ProblemId> ids = cache_->problems();
    for (size_t i = 0; i < ids.size() && i < static_cast<size_t>(capacity); ++i)
      std::memcpy(keyBuffer[i].data, ids[i].data(), ids[i].size());
    return static_cast<int64_t>(ids.size());
  });
}

nvinfer1::TimingCacheValue TimingCacheImpl::query(const nvinfer1::TimingCacheKey& key) const noexcept {
  return attempt_or(reporter_, "ITimingCache::query", nvinfer1::TimingCacheValue{0, 0},
                    [&]() -> Result<nvinfer1::TimingCacheValue> {
                      const std::optional<TimingCache::Best> best = cache_->best(to_id(key));
                      if (!best) return nvinfer1::TimingCacheValue{0, 0};
                      return nvinfer1::TimingCacheValue{best->tactic, static_cast<float>(best->us * 1e-3)};
                    });
}

bool TimingCacheImpl::update(const nvinfer1::TimingCacheKey& key, const nvinfer1::TimingCacheValue& value) noexcept {
  return attempt(reporter_, "ITimingCache::update",
                 [&] { return cache_->pin(to_id(key), value.tacticHash, double{value.timingMSec} * 1e3); });
}

}  // namespace wootz::api
