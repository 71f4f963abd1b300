#include "api/timing_cache.h"

#include "api/runtime/host_memory.h"

namespace wootz::api {

nvinfer1::IHostMemory* TimingCacheImpl::serialize() const noexcept {
  return attempt_or<nvinfer1::IHostMemory*>(
      reporter_, "ITimingCache::serialize", nullptr,
      [&]() -> Result<nvinfer1::IHostMemory*> { return new HostMemory(std::vector<std::byte>()); });
}

bool TimingCacheImpl::combine(const nvinfer1::ITimingCache&, bool) noexcept { return true; }
bool TimingCacheImpl::reset() noexcept { return true; }
int64_t TimingCacheImpl::queryKeys(nvinfer1::TimingCacheKey*, int64_t) const noexcept { return 0; }
nvinfer1::TimingCacheValue TimingCacheImpl::query(const nvinfer1::TimingCacheKey&) const noexcept { return {0, 0}; }
bool TimingCacheImpl::update(const nvinfer1::TimingCacheKey&, const nvinfer1::TimingCacheValue&) noexcept {
  return false;
}

}  // namespace wootz::api
