// Short pieces of memory, one after the other, by vectors of AVX-512: a call of memcpy takes as long as 100 bytes do.
#pragma once

#include <cstdint>

namespace wootz::cpu {

constexpr int64_t whole_lines(int64_t bytes) { return (bytes + 63) / 64 * 64; }

// Run i, of `bytes` bytes, goes from `from` + i * step to `to` + i * to_step, with zeros up to the next one's place.
struct CopyRuns {
  const char* from = nullptr;
  int64_t step = 0, bytes = 0, count = 0;
  char* to = nullptr;
  int64_t to_step = 0;
};
void copy_runs(const CopyRuns& runs);

}  // namespace wootz::cpu
