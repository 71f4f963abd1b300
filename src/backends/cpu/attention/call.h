// What attention on the processor does in one run: see call.cpp.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "backend/attention_heads.h"
#include "backends/cpu/attention/byte_rows.h"
#include "backends/cpu/attention/head_bytes.h"
#include "backends/cpu/attention/head_tiles.h"
#include "backends/cpu/attention/pairs.h"
#include "backends/cpu/attention/scratch.h"
#include "backends/cpu/attention/tile.h"
#include "backends/cpu/epilogue.h"
#include "backends/cpu/function_kernel.h"
#include "backends/cpu/move/transpose_block.h"
#include "backends/cpu/row_reader.h"
#include "backends/cpu/simd/rows.h"

namespace wootz::cpu {

class AttentionCall final : public Call {
 public:
  static constexpr int64_t kFewQueries = 4;  // below: a query at a time, scores along the row

  HeadLines q, k, v, y;
  int64_t batch = 0, heads = 0, kv_heads = 1, queries = 0, keys = 0, size = 0, v_size = 0;
  float scale = 1, cap = 0;
  bool causal = false, k_transposed = false;
  int64_t nan_rows = 0;
  DType mask = DType::kInvalid;
  Dims mask_strides;  // over [B, H, S, T]
  OpFn widen_mask = nullptr;
  RowReader reader;
  const ByteRows* bytes[3] = {};  // of q, k, v; null: they are floats
  // Of operands of 8 bits: for each element of each head of keys what it counts, the scores' scale in the first.
  std::vector<float> key_factor, value_factor;
  float zeros[3] = {};  // their zero points
  // With weights that are rounded, everything is of 8 bits: see call_rounded.cpp.
  ByteGrid score_grid, weight_grid;
  const ByteTiles* byte_tiles = nullptr;  // null: in floats
  bool signed_bytes[3] = {};
  const RowOps* rows = nullptr;
  const TileOps* tiles = nullptr;
  const PairOps* pairs = nullptr;         // null: operands are widened
  const HeadTiles* head_tiles = nullptr;  // null: no block is computed by them
  int64_t at_once = kQueries;             // of a block
  bool rounds = false;                    // the result is BF16, and nothing else follows
  Epilogue::Bound end;
  int slots = 1;

  bool all_bytes() const { return weight_grid.scale > 0; }
  // All heads that share keys and values of 8 bits go over them together.
  bool few_of_bytes() const {
    return bytes[1] != nullptr && bytes[2] != nullptr && queries < kFewQueries && !k_transposed;
  }
  size_t workspace() const override;
  Status run(const RunArgs& args) const override;

 private:
  struct Block {
    int64_t b, h, kv, first, m, wide;  // queries [first, first + m) of a head; wide: m filled up to whole vectors
  };
  void rounded_block(const RunArgs& args, int64_t head, int64_t first, float* memory) const;
  void by_byte_tiles(const RunArgs& args, int64_t head, int64_t first, float* memory) const;
  // Scores of the keys that are seen, [keys, wide], and the sums of their exponentials, in whose place they are.
  void rounded_scores(const RunArgs& args, const Block& at, const AttentionScratch& s, int64_t seen,
                      float* scores) const;
  void finish_rounded(const RunArgs& args, const Block& at, float* out) const;
  // How few queries over keys and values of 8 bits are divided: see call_bytes.cpp.
  struct FewPlan {
    int64_t heads = 1, blocks = 1, units = 0;  // of queries at once; of such among those that share keys; in all
    int64_t splits = 1, keys = 0, part = 0;    // of the keys; in each; floats that each leaves
  };
  struct FewRows {
    int64_t b, kv, first, heads;
  };
  FewPlan few_plan() const;
  FewRows few_rows(const FewPlan& plan, int64_t unit) const;
  Status run_few(const RunArgs& args) const;
  void attend_few(const RunArgs& args, const FewPlan& plan, int64_t unit, int64_t split,
                  const AttentionScratch& s) const;
  void add_splits(const FewPlan& plan, const float* parts, int64_t m, const AttentionScratch& s) const;
  void finish_few(const RunArgs& args, const FewPlan& plan, int64_t unit, const AttentionScratch& s) const;
  // Of weighted values in bytes, with the sums of their weights, makes numbers; `zero`: they have it still.
  void scale_values(int64_t kv, int64_t m, float* out, const float* sum, float zero) const;
  float key_factor_at(int64_t kv, int64_t d) const {
    return key_factor.empty() ? scale : key_factor[static_cast<size_t>(kv * size + d)];
  }
  // `n` rows of the operand from row `s` of a head as f32: where they lie, or widened side by side at `to`.
  const float* read(const RunArgs& args, int i, const HeadLines& lines, int64_t b, int64_t h, int64_t s, int64_t n,
                    float* to, int64_t* stride) const;
  void widen(const RunArgs& args, int i, int64_t at, int64_t n, float* to) const;
  // What one thread needs.
  int64_t elements() const;
  void block(const RunArgs& args, int64_t head, int64_t first, float* memory) const;
  // A row that sees nothing has zeros, or no numbers.
  enum class Fate { kDivided, kZero, kNoNumber };
  Fate fate_of(float sum) const;
  // Weighted values divided by the sums of their weights.
  void finish(const RunArgs& args, const Block& at, float* out, const float* sum) const;
  // Results as they are stored; not where the epilogue is trivial.
  void store(const RunArgs& args, const Block& at, float* out) const;
  struct RowMask;
  void by_tiles(const RunArgs& args, const Block& at, float* memory) const;
  struct FloatProducts;
  struct PairProducts;
  // Zeros where the last vectors of turned rows have no query.
  static void clear_after(float* turned, int64_t n, const Block& at);
  // Scores by columns: keys down, queries across.
  template <class Products>
  void many(const RunArgs& args, const Block& at, const AttentionScratch& s, const Products& products) const;
  // Keys from t: by rows, or (k_transposed) by columns.
  std::pair<const float*, int64_t> key_rows(const RunArgs& args, const Block& at, int64_t t, int64_t n,
                                            const AttentionScratch& s) const;
  void few(const RunArgs& args, const Block& at, const AttentionScratch& s) const;
  // What is added to the scores of query `first + r` and keys [t, t + n), as f32 (-inf: hidden).
  void mask_row(const RunArgs& args, const Block& at, int64_t r, int64_t t, int64_t n, float* to) const;
  void mask_columns(const RunArgs& args, const Block& at, int64_t t, int64_t n, const AttentionScratch& s) const;
  // Turns a row of scores into weights relative to the largest so far, and brings what is there to the same terms.
  void softmax_update_row(float* row, int64_t n, int64_t r, const AttentionScratch& s) const;
};

// Rows that are read many times, side by side at `to` unless they lie so: those whose distance is near a multiple of a
// page, as of queries, keys and values in one product, meet in few sets of the first-level cache.
inline const float* side_by_side(const float* from, int64_t n, int64_t width, float* to, int64_t* stride) {
  if (*stride == width) return from;
  for (int64_t r = 0; r < n; ++r) std::copy_n(from + r * *stride, width, to + r * width);
  *stride = width;
  return to;
}

// What is added to scores, of which rows of one mask for all queries are read once.
struct AttentionCall::RowMask final : ScoreMask {
  const AttentionCall& c;
  const RunArgs& args;
  const Block& at;
  mutable int64_t known = -1;
  mutable bool adds = true;
  RowMask(const AttentionCall& call, const RunArgs& run, const Block& block) : c(call), args(run), at(block) {}
  const float* row(int64_t r, int64_t t, int64_t n, float* to) const override {
    if (c.mask_strides[2] != 0) {
      c.mask_row(args, at, r, t, n, to);
      return to;
    }
    if (t != known) {
      c.mask_row(args, at, 0, t, n, to);
      adds = std::any_of(to, to + n, [](float m) { return m != 0; });
      known = t;
    }
    return adds ? to : nullptr;
  }
};

// The two products of a block of queries: scores [n, wide] of keys from t, and weights times values.
struct AttentionCall::FloatProducts {
  const AttentionCall& c;
  const RunArgs& args;
  const Block& at;
  const AttentionScratch& s;

  void prepare() const {
    int64_t stride = 0;
    const float* query = c.read(args, 0, c.q, at.b, at.h, at.first, at.m, s.query, &stride);
    transpose_plane(reinterpret_cast<const char*>(query), stride, reinterpret_cast<char*>(s.turned), at.wide, c.size,
                    at.m, 4);
    clear_after(s.turned, c.size, at);
    if (c.key_factor.empty()) return c.rows->scale(s.turned, s.turned, c.size * at.wide, c.scale);
    for (int64_t d = 0; d < c.size; ++d)
      c.rows->scale(s.turned + d * at.wide, s.turned + d * at.wide, at.wide, c.key_factor_at(at.kv, d));
  }
  void score(int64_t t, int64_t n) const {
    auto [key, step] = c.key_rows(args, at, t, n, s);
    if (!c.k_transposed) key = side_by_side(key, n, c.size, s.keys, &step);
    (c.k_transposed ? c.tiles->multiply_ta : c.tiles->multiply)(key, step, s.turned, at.wide, s.scores, at.wide, n,
                                                                at.wide, c.size, false);
  }
  void gather(int64_t t, int64_t n) const {
    int64_t stride = 0;
    const float* value = c.read(args, 2, c.v, at.b, at.kv, t, n, s.values, &stride);
    value = side_by_side(value, n, c.v_size, s.values, &stride);
    c.tiles->multiply_ta(s.scores, at.wide, value, stride, s.out, c.v_size, at.m, c.v_size, n, true);
  }
};

}  // namespace wootz::cpu
