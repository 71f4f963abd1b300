// How an operand of Attention lies: four axes [batch, heads, sequence, size], or, by a view, heads side by side in the
// last of three axes.
#pragma once

#include <string>

#include "ir/op_def.h"

namespace wootz::ops {

// The attribute is the ints [offset, heads, size, stride, sequence_first]: element d of head h is column
// offset + h * stride + d of [batch, sequence, columns], or of [sequence, batch, columns] with sequence_first.
struct HeadsView {
  bool given = false;
  int64_t offset = 0, heads = 1, size = 1, stride = 1;
  bool sequence_first = false;

  // Empty text, or what is wrong with it for an operand of that shape (extents may be symbols).
  static std::string read(const Node& node, std::string_view attr, const Shape& shape, HeadsView* out);
  // [batch, heads, sequence, size] of an operand of that shape.
  Shape logical(const Shape& shape) const;
};

// The view attribute of operand 0 (query), 1 (key) or 2 (value).
const char* view_attr(int operand);
// Shape of a result of logical shape [B,H,S,D] under the attribute `merged`: 0 as it is, 1 [B,S,H*D], 2 [S,B,H*D].
Shape merged_shape(const Shape& logical, int64_t merged);

}  // namespace wootz::ops
