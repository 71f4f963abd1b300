// Rows: what stands under the leading axes of a tensor, those of batch and sequence, say. An op is row-wise where each
// row of its results follows from the same rows of its operands: it may as well be given its rows in another order.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace wootz {

struct RowAxes {
  Dim outer, inner;
  RowAxes exchanged() const { return {inner, outer}; }
};

// How many leading axes the rows are: [outer, inner, ...], or [outer * inner, ...].
enum class RowForm : uint8_t { kOne = 1, kTwo = 2 };

std::optional<RowForm> row_form(const Shape& shape, const RowAxes& axes);

// The shape of the rows in the order [inner, outer, ...], given theirs in one form or the other.
Shape exchanged_shape(const Shape& shape, RowForm form, const RowAxes& axes);

struct RowWise {
  std::vector<int> rows;       // inputs that have the rows
  std::vector<int> constants;  // constant inputs that differ along one of the two axes, or both
};

// What a row-wise op reads by rows; its results all have them, in `form` as its inputs do. nullopt: it is not
// row-wise, or not known to be. Reshapes are not among them: `keeps_rows`.
std::optional<RowWise> row_wise(const Node& node, RowForm form, const RowAxes& axes);

// Whether a reshape leaves rows as they are, in whichever forms, and only what is in them takes another shape.
bool keeps_rows(const Node& reshape, const RowAxes& axes);

// Attributes as they have to be for rows of two axes.
AttrMap attributes_for_two(const Node& node, RowForm form);

}  // namespace wootz
