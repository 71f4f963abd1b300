// The memory in which a thread computes attention for a block of queries.
#pragma once

#include <cstdint>
#include <utility>

namespace wootz::cpu {

constexpr int64_t kQueries = 64, kKeys = 128;
inline int64_t padded(int64_t n) { return (n + 15) / 16 * 16; }

// What one thread needs, in f32 elements.
struct AttentionScratch {
  float *query, *turned, *keys, *values, *scores, *mask, *out, *top, *sum, *factor;
  static int64_t elements(int64_t size, int64_t v_size) {
    return 2 * kQueries * padded(size) + kKeys * padded(size) + kKeys * padded(v_size) + 3 * kQueries * kKeys +
           kQueries * padded(v_size) + 3 * kQueries;
  }
  AttentionScratch(float* at, int64_t size, int64_t v_size) {
    const auto take = [&at](int64_t n) { return std::exchange(at, at + n); };
    query = take(kQueries * padded(size));
    turned = take(kQueries * padded(size));
    keys = take(kKeys * padded(size));
    values = take(kKeys * padded(v_size));
    scores = take(kQueries * kKeys);
    mask = take(2 * kQueries * kKeys);
    out = take(kQueries * padded(v_size));
    top = take(kQueries);
    sum = take(kQueries);
    factor = take(kQueries);
  }
};

}  // namespace wootz::cpu
