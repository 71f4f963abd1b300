// ITimingCache.
#pragma once

#include <map>

#include "api/public.h"
#include "api/runtime/reporter.h"

namespace wootz::api {

class TimingCacheImpl final : public nvinfer1::ITimingCache {
 public:
  explicit TimingCacheImpl(const Reporter& reporter) : reporter_(reporter) {}

  nvinfer1::IHostMemory* serialize() const noexcept override;
  bool combine(const nvinfer1::ITimingCache& inputCache, bool ignoreMismatch) noexcept override;
  bool reset() noexcept override;
  int64_t queryKeys(nvinfer1::TimingCacheKey* keyBuffer, int64_t capacity) const noexcept override;
  nvinfer1::TimingCacheValue query(const nvinfer1::TimingCacheKey& key) const noexcept override;
  bool update(const nvinfer1::TimingCacheKey& key, const nvinfer1::TimingCacheValue& value) noexcept override;

 private:
  Reporter reporter_;
};

}  // namespace wootz::api
