// ITimingCache: measured times, kept from build to build.
#pragma once

#include <cstdint>

#include "wootz/host_memory.h"
#include "wootz/no_copy.h"
#include "wootz/timing_cache_entry.h"

namespace nvinfer1 {

/// Times of tactics by problem, device and library version. The same network with a complete cache builds to the same
/// plan. Made by IBuilderConfig::createTimingCache, owned by the caller. Not safe to use from several threads at once.
class ITimingCache : public INoCopy {
 public:
  /// All entries as bytes, for createTimingCache; owned by the caller. Null on failure.
  virtual IHostMemory* serialize() const noexcept = 0;

  /// Adds the entries of another cache; its own win. False, and nothing added, when the other is from another device or
  /// version, unless `ignoreMismatch`.
  virtual bool combine(const ITimingCache& inputCache, bool ignoreMismatch) noexcept = 0;

  /// Removes all entries.
  virtual bool reset() noexcept = 0;

  /// Keys of all entries: writes up to `capacity` of them, null allowed with 0, and returns how many there are; -1 on
  /// error. Needs BuilderFlag::kEDITABLE_TIMING_CACHE, as do query and update.
  virtual int64_t queryKeys(TimingCacheKey* keyBuffer, int64_t capacity) const noexcept = 0;

  /// The entry of a key; tacticHash 0 when there is none.
  virtual TimingCacheValue query(const TimingCacheKey& key) const noexcept = 0;

  /// Replaces the choice for a key: the next build uses that tactic. tacticHash 0 removes it. False when the tactic is
  /// not known for the key.
  virtual bool update(const TimingCacheKey& key, const TimingCacheValue& value) noexcept = 0;
};

}  // namespace nvinfer1
