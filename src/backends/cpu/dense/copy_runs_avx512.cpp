#include <immintrin.h>

#include "backends/cpu/dense/copy_runs.h"

namespace wootz::cpu {
namespace {

__mmask64 first(int64_t n) { return n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1; }

}  // namespace

void copy_runs(const CopyRuns& r) {
  const char* from = r.from;
  char* to = r.to;
  for (int64_t i = 0; i < r.count; ++i, from += r.step, to += r.to_step) {
    int64_t b = 0;
    for (; b + 64 <= r.bytes; b += 64) _mm512_storeu_si512(to + b, _mm512_loadu_si512(from + b));
    if (b == r.to_step) continue;
    // The rest of the run, and zeros, in as few stores as both take.
    const __m512i rest = _mm512_maskz_loadu_epi8(first(r.bytes - b), from + b);
    _mm512_mask_storeu_epi8(to + b, first(r.to_step - b), rest);
    for (b += 64; b < r.to_step; b += 64) _mm512_mask_storeu_epi8(to + b, first(r.to_step - b), _mm512_setzero_si512());
  }
}

}  // namespace wootz::cpu
