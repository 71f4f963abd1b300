// What attention on the processor does in one run: see call.cpp.
#pragma once

#include <utility>

#include "backend/attention_heads.h"
#include "backends/cpu/attention/head_tiles.h"
#include "backends/cpu/attention/pairs.h"
#include "backends/cpu/attention/scratch.h"
#include "backends/cpu/attention/tile.h"
#include "backends/cpu/epilogue.h"
#include "backends/cpu/function_kernel.h"
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
  const RowOps* rows = nullptr;
  const TileOps* tiles = nullptr;
  const PairOps* pairs = nullptr;         // null: operands are widened
  const HeadTiles* head_tiles = nullptr;  // null: no block is computed by them
  int64_t at_once = kQueries;             // of a block
  bool rounds = false;                    // the result is BF16, and nothing else follows
  Epilogue::Bound end;
  int slots = 1;

  size_t workspace() const override;
  Status run(const RunArgs& args) const override;

 private:
  struct Block {
    int64_t b, h, kv, first, m, wide;  // queries [first, first + m) of a head; wide: m filled up to whole vectors
  };
  // `n` rows of the operand from row `s` of a head as f32: where they lie, or widened side by side at `to`.
  const float* read(const RunArgs& args, int i, const HeadLines& lines, int64_t b, int64_t h, int64_t s, int64_t n,
                    float* to, int64_t* stride) const;
  void widen(const void* from, int64_t at, int64_t n, float* to) const;
  // What one thread needs.
  int64_t elements() const;
  void block(const RunArgs& args, int64_t head, int64_t first, float* memory) const;
  // A row that sees nothing has zeros, or no numbers.
  enum class Fate { kDivided, kZero, kNoNumber };
  Fate fate_of(float sum) const;
  // Weighted values divided by the sums of their weights.
  void finish(const RunArgs& args, const Block& at, float* out, const float* sum) const;
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

}  // namespace wootz::cpu
