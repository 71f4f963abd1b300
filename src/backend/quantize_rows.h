// Family quantize_rows: rows that are normalized, or computed by an expression, or there, and rounded to 8 bits by a
// scale of each.
#pragma once

#include <optional>

#include "backend/program.h"

namespace wootz {

// A rounding of rows with the step in front that makes them, a normalization or an expression, as one. `keeps`: other
// steps read the rows, too. Nullopt: it is something else. Name and provenance are the caller's to give.
std::optional<Step> make_quantize_rows(const Step& first, const Step& rounding, bool keeps);

// What a problem of the family says of its inputs. Everything is checked: it may come from a plan file.
struct RowOperands {
  int scale = -1, bias = -1;  // of the normalization: inputs, or none
  int first = 0;              // operand k of `value` is inputs[first + k]; of a normalization, from k = 1 on
  DType type = DType::kF32;   // of the rows that are rounded
};
Result<RowOperands> row_operands(const Problem& problem);
// The extents as well: rows of one length throughout.
Status check_row_extents(const Problem& problem, std::span<const Dims> inputs, std::span<const Dims> outputs);

// A row's scale, of its largest absolute value.
inline float row_scale(const QuantizeRowsParams& p, float most) {
  const float scale = p.factor > 0 ? most * static_cast<float>(p.factor) : most / static_cast<float>(p.divisor);
  return scale < static_cast<float>(p.least) ? static_cast<float>(p.least) : scale;
}

}  // namespace wootz
