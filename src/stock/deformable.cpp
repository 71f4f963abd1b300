// ModulatedDeformConv2d, and attention that samples maps of several scales.
#include "stock/tables.h"

namespace wootz::stock {
namespace {

// Inputs x, offset, mask, weight, [bias].
Status expand_deform_conv(Layer& l) {
  for (size_t i = 0; i < 4; ++i) WOOTZ_RETURN_IF_ERROR(l.need(i, {4}));
  const std::vector<int64_t> stride = l.integers("stride"), padding = l.integers("padding"),
                             dilation = l.integers("dilation");
  if (stride.size() != 2 || padding.size() != 2 || dilation.size() != 2)
    return l.fail("stride, padding and dilation have {}, {} and {} values; each must have 2", stride.size(),
                  padding.size(), dilation.size());
  l.out(0, l.b.op("DeformConv", {l.in(0), l.in(3), l.in(1), l.in(4), l.in(2)},
                  {{"strides", stride},
                   {"pads", std::vector<int64_t>{padding[0], padding[1], padding[0], padding[1]}},
                   {"dilations", dilation},
                   {"groups", l.integer("group")},
                   {"offset_groups", l.integer("deformable_group")}}));
  return l.b.status();
}

// One map of the values [N, S, M, D], sampled at [N, Q, M, P, 2] and weighted: [N, M, D, Q].
Value* sampled(GraphBuilder& b, Value* map, Value* places, Value* weights, int64_t height, int64_t width) {
  if (b.failed()) return nullptr;
  const Shape& v = map->shape();
  const int64_t heads = v[2].value(), depth = v[3].value(), points = places->shape()[3].value();
  Value* const image = b.reshape(b.transpose(map, {0, 2, 3, 1}), std::vector<int64_t>{-1, depth, height, width});
  Value* const centered = b.sub(b.scale(places, 2), b.scalar(places->dtype(), 1));
  Value* const queries = b.extent(places, 1);
  Value* const grid = b.op(
      "Reshape", {b.transpose(centered, {0, 2, 1, 3, 4}), b.concat({b.ints({-1}), queries, b.ints({points, 2})}, 0)});
  Value* const taken =
      b.op("GridSample", {image, grid},
           {{"mode", std::string("linear")}, {"padding_mode", std::string("zeros")}, {"align_corners", int64_t{0}}});
  Value* const factors =
      b.op("Reshape", {b.transpose(weights, {0, 2, 1, 3}), b.concat({b.ints({-1, 1}), queries, b.ints({points})}, 0)});
  Value* const sum = b.reduce("sum", b.mul(taken, factors), {3}, false);
  return b.op("Reshape", {sum, b.concat({b.ints({-1, heads, depth}), queries}, 0)});
}

// Inputs: values [N, S, M, D], extents of the maps [L, 2], where they begin [L], places [N, Q, M, L, P, 2], and weights
// [N, Q, M, L, P].
Status expand_attention(Layer& l) {
  WOOTZ_RETURN_IF_ERROR(l.need(0, {4}));
  WOOTZ_RETURN_IF_ERROR(l.need(1, {2}, false));
  WOOTZ_RETURN_IF_ERROR(l.need(2, {1}, false));
  WOOTZ_RETURN_IF_ERROR(l.need(3, {6}));
  WOOTZ_RETURN_IF_ERROR(l.need(4, {5}));
  if (!l.in(1)->is_constant()) return l.fail("input 1, the extents of the maps, must be constants");
  for (const auto& [input, axis] : {std::pair<size_t, size_t>{0, 2}, {0, 3}, {3, 4}})
    WOOTZ_RETURN_IF_ERROR(l.fixed(input, axis).status());
  const HostTensor& extents = l.in(1)->constant();
  GraphBuilder& b = l.b;
  const DType type = l.in(0)->dtype();
  Value* total = nullptr;
  int64_t first = 0;
  for (int64_t level = 0; level < extents.volume() / 2; ++level) {
    const int64_t height = extents.get_i64(2 * level), width = extents.get_i64(2 * level + 1);
    const auto of_level = [&](size_t input) {
      return b.squeeze(b.slice(b.cast(l.in(input), DType::kF32), 3, level, level + 1), {3});
    };
    Value* const map = b.slice(b.cast(l.in(0), DType::kF32), 1, first, first + height * width);
    Value* const part = sampled(b, map, of_level(3), of_level(4), height, width);
    total = total == nullptr ? part : b.add(total, part);
    first += height * width;
  }
  if (total == nullptr) return l.b.failed() ? b.status() : l.fail("there are no maps");
  l.out(0, b.cast(b.transpose(total, {0, 3, 1, 2}), type));
  return b.status();
}

using enum FieldType;
constexpr Field kDeform[] = {{"stride", kInt, "1,1"},
                             {"padding", kInt, "0,0"},
                             {"dilation", kInt, "1,1"},
                             {"group", kInt, "1"},
                             {"deformable_group", kInt, "1"}};
constexpr const char* kDeformWhat = "a convolution whose taps are moved by offsets and weighted by a mask";
constexpr const char* kAttentionWhat =
    "Deformable DETR's attention: weighted samples of maps whose extents are constants";

}  // namespace

std::span<const Plugin> deformable_plugins() {
  static constexpr Plugin kDeformablePlugins[] = {
      {"ModulatedDeformConv2d", "1", Interface::kV2, kDeform, 4, 5, 1, expand_deform_conv, kDeformWhat},
      {"ModulatedDeformConv2d", "2", Interface::kV3, kDeform, 4, 5, 1, expand_deform_conv, kDeformWhat},
      {"MultiscaleDeformableAttnPlugin_TRT", "1", Interface::kV2, {}, 5, 5, 1, expand_attention, kAttentionWhat},
      {"MultiscaleDeformableAttnPlugin_TRT", "2", Interface::kV3, {}, 5, 5, 1, expand_attention, kAttentionWhat},
  };
  return kDeformablePlugins;
}

}  // namespace wootz::stock
