// Attention of BF16 by AMX for a block of queries of one head, in three steps for 32 queries and 128 keys at a time:
// scores as queries by keys, whose tiles of keys are turned once for all queries of the block; exponentials along each
// row in registers, rounded to BF16 where the next tiles read them; and their products with the values. The largest
// score so far decides what all before is worth (Milakov and Gimelshein, "Online normalizer calculation for softmax",
// 2018).
#pragma once

#include <cstdint>

namespace wootz::cpu {

constexpr int64_t kHeadRows = 32;  // queries at a time
inline int64_t head_rows(int64_t queries) { return (queries + kHeadRows - 1) / kHeadRows * kHeadRows; }

// What is added to scores.
struct ScoreMask {
  // To those of the block's query r and keys [t, t + n), as f32 (-inf: hidden): at `to` or elsewhere; null: nothing.
  virtual const float* row(int64_t r, int64_t t, int64_t n, float* to) const = 0;

 protected:
  ~ScoreMask() = default;
};

struct HeadBlock {
  const uint16_t *q = nullptr, *k = nullptr, *v = nullptr;  // the block's first query; the head's first key and value
  int64_t q_row = 0, k_row = 0, v_row = 0;                  // from one to the next
  int64_t queries = 0, keys = 0, size = 0, v_size = 0;      // sizes are multiples of 32 and 16
  float scale = 1;
  bool causal = false;
  int64_t first = 0;  // the number of the block's first query, which sees so many keys and one more
  const ScoreMask* mask = nullptr;
  float *out = nullptr, *sum = nullptr;  // weighted values [head_rows(queries), v_size]; the weights' sums
  float* memory = nullptr;               // `elements` of them, at a multiple of 64 bytes
};

struct HeadTiles {
  int64_t (*elements)(int64_t queries, int64_t size, int64_t v_size);
  void (*attend)(const HeadBlock& block);
  // Row r of `to`, v_size elements and `stride` after the one before: out / sum, rounded.
  void (*divide)(const HeadBlock& block, uint16_t* to, int64_t stride);
};
extern const HeadTiles kHeadTiles;  // to be used only where the processor has AMX-BF16, and AVX-512 with BF16

}  // namespace wootz::cpu
