// What follows the sums of a product or a convolution, read from the problem's epilogue.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backend/kernel.h"
#include "backend/problem.h"
#include "backends/cpu/dense/byte_table.h"
#include "backends/cpu/dense/sums_end.h"

namespace wootz::cpu {

struct SumsFinish {
  // Applied to the sums first, with the columns' own scales and biases: factor * (scale * sum + bias) + shift.
  float factor = 1, shift = 0;
  // Inputs of a product: what its rows' sums are multiplied by before that, and in that case a bias, after the rows'
  // scale and the columns'; negative: there is none.
  int rows = -1, bias = -1;
  std::vector<SumsEnd> ends;
  SumsEnd::Type type = SumsEnd::Type::kF32;
  int32_t zero = 0;
  bool may_be_nan = false;
  std::shared_ptr<const ByteTable> table;  // of bytes by bytes of `type`; null: none
};
// Whether what follows a first rounding to bytes may be a table.
enum class Tables : bool { kNo, kYes };
// Null: the tile cannot do all of it.
std::optional<SumsFinish> read_sums_finish(const Problem& problem, Tables tables = Tables::kNo);
// For a run at these extents, at which a residual may broadcast: null then, too.
std::optional<SumsFinish> read_sums_finish(const Problem& problem, const BindArgs& args, Tables tables = Tables::kNo);

// The largest absolute value that sums of `products` products of bytes, times the columns' scales, and operands in
// bytes come to: `sums`, infinite where what follows may make it any larger, and the largest bias times `of_bias`.
struct LargestResult {
  float sums = 0, of_bias = 1;
  float with(float bias) const { return sums + of_bias * bias; }
};
LargestResult largest_result(const SumsFinish& finish, int64_t products, std::span<const float> scales);
inline constexpr float kFitsInteger = 1e9f;  // results below that are well within an int32

}  // namespace wootz::cpu
