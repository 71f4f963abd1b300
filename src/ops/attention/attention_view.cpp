#include "ops/attention/attention_view.h"

#include <fmt/format.h>

namespace wootz::ops {

const char* view_attr(int operand) {
  static constexpr const char* kNames[] = {"q_view", "k_view", "v_view"};
  return kNames[operand];
}

std::string HeadsView::read(const Node& node, std::string_view attr, const Shape& shape, HeadsView* out) {
  *out = {};
  if (!node.has_attr(attr)) {
    if (shape.size() == 4) return "";
    return fmt::format("shape {} where [batch, heads, sequence, size] is needed", shape_to_string(shape));
  }
  const std::vector<int64_t> v = node.attr_ints(attr);
  if (v.size() != 5) return fmt::format("'{}' has {} numbers, 5 are needed", attr, v.size());
  *out = {true, v[0], v[1], v[2], v[3], v[4] != 0};
  if (shape.size() != 3 || !shape[2].is_const())
    return fmt::format("shape {} where '{}' needs three axes and a known last extent", shape_to_string(shape), attr);
  const int64_t columns = shape[2].value();
  constexpr int64_t kMost = int64_t{1} << 31;
  const bool sane =
      v[0] >= 0 && v[1] >= 1 && v[2] >= 1 && v[3] >= 0 && v[0] < kMost && v[1] < kMost && v[2] < kMost && v[3] < kMost;
  if (!sane || v[0] + (v[1] - 1) * v[3] + v[2] > columns)
    return fmt::format("'{}' = [{}] reaches beyond the {} columns of {}", attr, fmt::join(v, ", "), columns,
                       shape_to_string(shape));
  return "";
}

Shape HeadsView::logical(const Shape& shape) const {
  if (!given) return shape;
  return {shape[sequence_first ? 1 : 0], Dim(heads), shape[sequence_first ? 0 : 1], Dim(size)};
}

Shape merged_shape(const Shape& logical, int64_t merged) {
  if (merged == 0) return logical;
  const Dim columns = logical[1] * logical[3];
  return merged == 1 ? Shape{logical[0], logical[2], columns} : Shape{logical[2], logical[0], columns};
}

}  // namespace wootz::ops
