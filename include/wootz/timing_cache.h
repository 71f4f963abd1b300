// ITimingCache: measured times, kept from build to build.
#pragma once

#include <cstdint>

#include "wootz/host_memory.h"
#include "wootz/no_copy.h"
#include "wootz/timing_cache_entry.h"

namespace nvinfer1 {

class ITimingCache : public INoCopy {
 public:
  virtual IHostMemory* serialize() const noexcept = 0;
  virtual bool combine(const ITimingCache& inputCache, bool ignoreMismatch) noexcept = 0;
  virtual bool reset() noexcept = 0;
  virtual int64_t queryKeys(TimingCacheKey* keyBuffer, int64_t capacity) const noexcept = 0;
  virtual TimingCacheValue query(const TimingCacheKey& key) const noexcept = 0;
  virtual bool update(const TimingCacheKey& key, const TimingCacheValue& value) noexcept = 0;
};

}  // namespace nvinfer1
