// ITimingCache.
#pragma once

#include <memory>

#include "api/public.h"
#include "api/runtime/reporter.h"
#include "tuner/cache/timing_cache.h"

namespace wootz::api {

class TimingCacheImpl final : public nvinfer1::ITimingCache {
 public:
  TimingCacheImpl(const Reporter& reporter, std::unique_ptr<TimingCache> cache)
      : reporter_(reporter), cache_(std::move(cache)) {}
  TimingCache& cache() const { return *cache_; }

  nvinfer1::IHostMemory* serialize() const noexcept override;
  bool combine(const nvinfer1::ITimingCache& inputCache, bool ignoreMismatch) noexcept override;
  bool reset() noexcept override;
  int64_t queryKeys(nvinfer1::TimingCacheKey* keyBuffer, int64_t capacity) const noexcept override;
  nvinfer1::TimingCacheValue query(const nvinfer1::TimingCacheKey& key) const noexcept override;
  bool update(const nvinfer1::TimingCacheKey& key, const nvinfer1::TimingCacheValue& value) noexcept override;

 private:
  Reporter reporter_;
  std::unique_ptr<TimingCache> cache_;
};

}  // namespace wootz::api
