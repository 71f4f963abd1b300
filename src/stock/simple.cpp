// Plugins that are one or two of our ops under another name.
#include <cmath>

#include "stock/tables.h"

namespace wootz::stock {
namespace {

Status expand_clip(Layer& l) {
  WOOTZ_RETURN_IF_ERROR(l.need(0, {}));
  l.out(0, clip(l.b, l.in(0), l.number("clipMin"), l.number("clipMax")));
  return l.b.status();
}

Status expand_leaky_relu(Layer& l) {
  WOOTZ_RETURN_IF_ERROR(l.need(0, {}));
  l.out(0, l.b.op("LeakyRelu", {l.in(0)}, {{"alpha", l.number("negSlope")}}));
  return l.b.status();
}

// x / sqrt(sum of squares + eps) * weights: the sum is over channels, and over places as well when it is across them.
Status expand_normalize(Layer& l) {
  WOOTZ_RETURN_IF_ERROR(l.need(0, {4}));
  GraphBuilder& b = l.b;
  Value* const x = b.cast(l.in(0), DType::kF32);
  const bool across = l.flag("acrossSpatial"), shared = l.flag("channelShared");
  int64_t channels = 1;
  if (!shared) {
    WOOTZ_ASSIGN_OR_RETURN(channels, l.fixed(0, 1));
  }
  Value* const scale = l.weights("weights", Dims{1, channels, 1, 1}, DType::kF32);
  Value* const sum =
      b.reduce("sum", b.mul(x, x), across ? std::vector<int64_t>{1, 2, 3} : std::vector<int64_t>{1}, true);
  Value* const norm = b.op("Sqrt", {b.failed() ? nullptr : b.add(sum, b.scalar(DType::kF32, l.number("eps")))});
  l.out(0, b.cast(b.mul(b.div(x, norm), scale), l.in(0)->dtype()));
  return b.status();
}

// The second input, as often as the first has images.
Status expand_batch_tile(Layer& l) {
  WOOTZ_RETURN_IF_ERROR(l.need(0, {4}, false));
  WOOTZ_RETURN_IF_ERROR(l.need(1, {4}, false));
  if (!(l.shape(1)[0] == Dim(1))) return l.fail("input 1 is {}, it must be one image", shape_to_string(l.shape(1)));
  GraphBuilder& b = l.b;
  l.out(0, expand_to(b, l.in(1), {b.extent(l.in(0), 0), b.slice(b.shape_of(l.in(1)), 0, 1, 4)}));
  return b.status();
}

// [N, sum of C*H*W, 1, 1].
Status expand_flatten_concat(Layer& l) {
  if (l.integer("axis") != 1 || l.flag("ignoreBatch"))
    return l.fail("axis is {} and ignoreBatch {}; 1 and 0 are offered", l.integer("axis"), l.integer("ignoreBatch"));
  GraphBuilder& b = l.b;
  std::vector<Value*> parts;
  for (size_t i = 0; i < l.num_inputs(); ++i) {
    WOOTZ_RETURN_IF_ERROR(l.need(i, {3, 4}, false));
    parts.push_back(b.reshape(l.in(i), std::vector<int64_t>{0, -1}));
  }
  l.out(0, b.unsqueeze(b.unsqueeze(b.concat(parts, 1), {2}), {3}));
  return b.status();
}

// Channels that say where a place is, from -1 to 1, downwards and to the right.
Status expand_coordinates(Layer& l) {
  WOOTZ_RETURN_IF_ERROR(l.need(0, {4}));
  GraphBuilder& b = l.b;
  const auto channel = [&](size_t axis) -> Result<Value*> {
    WOOTZ_ASSIGN_OR_RETURN(const int64_t extent, l.fixed(0, axis));
    WOOTZ_RETURN_IF_ERROR(l.bounded("an extent", {extent}));
    std::vector<double> places;
    for (int64_t i = 0; i < extent; ++i)
      places.push_back(extent == 1 ? -1 : -1 + 2 * static_cast<double>(i) / static_cast<double>(extent - 1));
    Value* const line = floats(b, places, axis == 2 ? Dims{1, 1, extent, 1} : Dims{1, 1, 1, extent});
    Value* const of_type = b.cast(line, l.in(0)->dtype());
    return expand_to(b, of_type, {b.extent(l.in(0), 0), b.ints({1}), b.slice(b.shape_of(l.in(0)), 0, 2, 4)});
  };
  WOOTZ_ASSIGN_OR_RETURN(Value* const down, channel(2));
  WOOTZ_ASSIGN_OR_RETURN(Value* const right, channel(3));
  l.out(0, b.concat({l.in(0), down, right}, 1));
  return b.status();
}

// Darknet's reorganization: what its sample code does to memory, which is no plain space to depth.
Status expand_reorg(Layer& l) {
  WOOTZ_RETURN_IF_ERROR(l.need(0, {4}));
  const int64_t stride = l.integer("stride");
  WOOTZ_ASSIGN_OR_RETURN(const int64_t channels, l.fixed(0, 1));
  WOOTZ_ASSIGN_OR_RETURN(const int64_t height, l.fixed(0, 2));
  WOOTZ_ASSIGN_OR_RETURN(const int64_t width, l.fixed(0, 3));
  WOOTZ_RETURN_IF_ERROR(l.bounded("stride", {stride, stride}));
  if (channels % (stride * stride) != 0 || height % stride != 0 || width % stride != 0)
    return l.fail("stride {} for input {}: height and width must be multiples of it, and channels of its square",
                  stride, shape_to_string(l.shape(0)));
  GraphBuilder& b = l.b;
  // Memory as [C / s^2, H * s, W * s]: each place of a block becomes a group of C channels, which hold what the
  // blocks have there, in the order of memory.
  Value* const seen =
      b.reshape(l.in(0), std::vector<int64_t>{-1, channels / (stride * stride), height, stride, width, stride});
  Value* const moved = b.transpose(seen, {0, 3, 5, 1, 2, 4});
  l.out(0, b.reshape(moved, std::vector<int64_t>{-1, channels * stride * stride, height / stride, width / stride}));
  return b.status();
}

// YOLOv2's activations: of each box, sigmoids of places and of its presence, and probabilities of classes.
Status expand_region(Layer& l) {
  WOOTZ_RETURN_IF_ERROR(l.need(0, {4}));
  const int64_t boxes = l.integer("num"), coordinates = l.integer("coords"), classes = l.integer("classes");
  if (coordinates != 4) return l.fail("coords is {}; 4 is offered", coordinates);
  WOOTZ_ASSIGN_OR_RETURN(const int64_t channels, l.fixed(0, 1));
  WOOTZ_ASSIGN_OR_RETURN(const int64_t height, l.fixed(0, 2));
  WOOTZ_ASSIGN_OR_RETURN(const int64_t width, l.fixed(0, 3));
  WOOTZ_RETURN_IF_ERROR(l.bounded("num times classes", {boxes, classes}));
  if (channels != boxes * (5 + classes))
    return l.fail("{} channels for {} boxes of 5 values and {} classes", channels, boxes, classes);
  GraphBuilder& b = l.b;
  Value* const each = b.reshape(l.in(0), std::vector<int64_t>{-1, boxes, 5 + classes, height, width});
  const auto part = [&](int64_t first, int64_t last) { return b.slice(each, 2, first, last); };
  Value* const likely = b.op("Softmax", {part(5, 5 + classes)}, {{"axis", int64_t{2}}});
  Value* const all = b.concat({b.op("Sigmoid", {part(0, 2)}), part(2, 4), b.op("Sigmoid", {part(4, 5)}), likely}, 2);
  l.out(0, b.reshape(all, std::vector<int64_t>{-1, channels, height, width}));
  return b.status();
}

Status expand_special_slice(Layer& l) {
  WOOTZ_RETURN_IF_ERROR(l.need(0, {3}));
  l.out(0, columns(l.b, l.in(0), 0, 4));
  return l.b.status();
}

using enum FieldType;
constexpr Field kClip[] = {{"clipMin", kFloat, nullptr}, {"clipMax", kFloat, nullptr}};
constexpr Field kLeaky[] = {{"negSlope", kFloat, "0.01"}};
constexpr Field kNormalize[] = {{"weights", kFloat, nullptr},
                                {"acrossSpatial", kInt, "1"},
                                {"channelShared", kInt, "1"},
                                {"nbWeights", kInt, "1"},
                                {"eps", kFloat, "1e-10"}};
constexpr Field kFlatten[] = {{"axis", kInt, "1"}, {"ignoreBatch", kInt, "0"}};
constexpr Field kReorg[] = {{"stride", kInt, nullptr}};
constexpr Field kRegion[] = {{"num", kInt, "5"}, {"coords", kInt, "4"}, {"classes", kInt, "80"}};

}  // namespace

std::span<const Plugin> simple_plugins() {
  static constexpr Plugin kSimplePlugins[] = {
      {"Clip_TRT", "1", Interface::kV2, kClip, 1, 1, 1, expand_clip, "what is out of bounds becomes the bound"},
      {"LReLU_TRT", "1", Interface::kV2, kLeaky, 1, 1, 1, expand_leaky_relu, "leaky ReLU"},
      {"Normalize_TRT", "1", Interface::kV2, kNormalize, 1, 1, 1, expand_normalize,
       "lengths of 1 over channels, or over whole images, times weights"},
      {"BatchTilePlugin_TRT",
       "1",
       Interface::kV2,
       {},
       2,
       2,
       1,
       expand_batch_tile,
       "the second input for each image of the first"},
      {"FlattenConcat_TRT", "1", Interface::kV2, kFlatten, 1, 64, 1, expand_flatten_concat, "inputs as lists, joined"},
      {"CoordConvAC", "1", Interface::kV2, {}, 1, 1, 1, expand_coordinates, "two channels more, with coordinates"},
      {"Reorg_TRT", "1", Interface::kV2, kReorg, 1, 1, 1, expand_reorg, "YOLOv2's reorganization"},
      {"Reorg_TRT", "2", Interface::kV2, kReorg, 1, 1, 1, expand_reorg, "YOLOv2's reorganization"},
      {"Region_TRT", "1", Interface::kV2, kRegion, 1, 1, 1, expand_region,
       "YOLOv2's activations, without a tree of classes"},
      {"SpecialSlice_TRT",
       "1",
       Interface::kV2,
       {},
       1,
       1,
       1,
       expand_special_slice,
       "the boxes of Mask R-CNN's detections"},
  };
  return kSimplePlugins;
}

}  // namespace wootz::stock
