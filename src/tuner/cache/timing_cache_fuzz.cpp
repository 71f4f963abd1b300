// A timing cache from anywhere, its digest made right by a forger: refused, or usable.
#include <xxhash.h>

#include <cstring>

#include "tuner/cache/timing_cache.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > (size_t{1} << 20)) return 0;
  std::vector<uint8_t> bytes(data, data + size);
  if (size >= 32) {
    const uint32_t version = 2;
    std::memcpy(bytes.data(), "WOOTZTMC", 8);
    std::memcpy(bytes.data() + 8, &version, 4);
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    XXH3_128bits_update(&state, bytes.data() + 8, 8);
    XXH3_128bits_update(&state, bytes.data() + 32, size - 32);
    XXH128_canonical_t digest;
    XXH128_canonicalFromHash(&digest, XXH3_128bits_digest(&state));
    std::memcpy(bytes.data() + 16, &digest, sizeof(digest));
  }
  const auto cache = wootz::TimingCache::deserialize(std::as_bytes(std::span(bytes)));
  if (!cache.ok()) return 0;
  (void)(*cache)->to_json();
  for (const auto& id : (*cache)->problems()) (void)(*cache)->best(id);
  const auto again = wootz::TimingCache::deserialize((*cache)->serialize());
  if (!again.ok() || (*again)->size() != (*cache)->size()) __builtin_trap();
  return 0;
}
