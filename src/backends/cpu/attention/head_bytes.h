// Attention of 8 bits by AMX for a block of queries of one head, whose weights are rounded to 8 bits: scores as queries
// by keys, sums of whole numbers; the softmax along each row in registers, over all keys, as a weight's rounding
// depends on the whole row's sum; and the rounded weights times the values.
#pragma once

#include <cstdint>

#include "backends/cpu/attention/head_tiles.h"

namespace wootz::cpu {

// A grid of whole numbers [low, high], less `zero`, times `scale`; scale 0: none.
struct ByteGrid {
  float scale = 0, zero = 0, low = 0, high = 0;
};

struct ByteHead {
  const uint8_t *q = nullptr, *k = nullptr, *v = nullptr;  // the block's first query; the head's first key and value
  int64_t q_row = 0, k_row = 0, v_row = 0;                 // from one to the next
  bool q_signed = true, k_signed = true, v_signed = true;
  int32_t q_zero = 0, k_zero = 0, v_zero = 0;
  int64_t queries = 0, keys = 0, size = 0, v_size = 0;
  float scale = 1;  // of whole numbers' products, as scores
  bool causal = false;
  int64_t first = 0;  // the number of the block's first query, which sees so many keys and one more
  const ScoreMask* mask = nullptr;
  ByteGrid scores, weights;
  float *out = nullptr, *sum = nullptr;  // [head_rows(queries), v_size]: sums of rounded weights times values, both as
                                         // whole numbers; [head_rows(queries)]: the sums of what was rounded
  float* memory = nullptr;               // `elements` of them, at a multiple of 64 bytes
};

struct ByteTiles {
  int64_t (*elements)(int64_t keys, int64_t size, int64_t v_size);
  void (*attend)(const ByteHead& block);
};
extern const ByteTiles kByteTiles;  // to be used only where the processor has AMX-INT8, and AVX-512 with BF16

}  // namespace wootz::cpu
