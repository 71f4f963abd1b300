// Regions of maps, sampled into crops of one size: by RoiAlign, which is told where the samples are.
#include <cmath>

#include "stock/tables.h"

namespace wootz::stock {
namespace {

// Boxes [N, R, 4] as rows of their own, as columns [N * R, 1]: y1, x1, y2, x2 by their numbers.
struct Rows {
  Value* side[4] = {};
  Value* image = nullptr;  // which each is of, [N * R]
};

Rows rows_of_boxes(GraphBuilder& b, Value* boxes) {
  Rows rows;
  if (b.failed()) return rows;
  Value* const flat = b.reshape(b.cast(boxes, DType::kF32), std::vector<int64_t>{-1, 4});
  for (int64_t i = 0; i < 4; ++i) rows.side[i] = columns(b, flat, i, i + 1);
  Value* const numbers = b.unsqueeze(count_up(b, boxes, 0), {1});
  Value* const each = expand_to(b, numbers, {b.extent(boxes, 0), b.extent(boxes, 1)});
  rows.image = b.reshape(each, std::vector<int64_t>{-1});
  return rows;
}

// Samples of a map in bins that begin at `first` and end at `last` (both [rows, 1], in elements of the map, by axis):
// `ratio` of them a bin and axis, in their middles; 0: as many as a bin has elements.
struct Bins {
  Value *first[2], *last[2];
};

Value* sampled(GraphBuilder& b, Value* map, const Bins& bins, Value* image, int64_t height, int64_t width,
               int64_t ratio) {
  if (b.failed()) return nullptr;
  // RoiAlign takes half an element off again, and does not widen what is narrow.
  const auto moved = [&](Value* v) { return b.add(v, b.scalar(DType::kF32, 0.5)); };
  Value* const regions =
      b.concat({moved(bins.first[1]), moved(bins.first[0]), moved(bins.last[1]), moved(bins.last[0])}, 1);
  return b.op("RoiAlign", {map, regions, image},
              {{"mode", std::string("avg")},
               {"output_height", height},
               {"output_width", width},
               {"sampling_ratio", ratio},
               {"spatial_scale", 1.0},
               {"half_pixel", int64_t{1}}});
}

// Points that are `steps` apart, the first at `start`, as bins that have them in their middles.
Bins around_points(GraphBuilder& b, Value* const* start, Value* const* step, const int64_t* count) {
  Bins bins{};
  for (int a = 0; a < 2; ++a) {
    bins.first[a] = b.sub(start[a], b.scale(step[a], 0.5));
    bins.last[a] = b.add(bins.first[a], b.scale(step[a], static_cast<double>(count[a])));
  }
  return bins;
}

// Crops [N * R, C, h, w] as [N, R, C, h, w].
Value* by_image(GraphBuilder& b, Value* crops, Value* boxes, int64_t height, int64_t width) {
  if (b.failed()) return nullptr;
  return b.op(
      "Reshape",
      {crops, b.concat({b.extent(boxes, 0), b.extent(boxes, 1), b.extent(crops, 1), b.ints({height, width})}, 0)});
}

// TensorFlow's crop_and_resize: points from corner to corner, 0 where they are outside.
Status expand_crop_and_resize(Layer& l) {
  WOOTZ_RETURN_IF_ERROR(l.need(0, {4}));
  WOOTZ_RETURN_IF_ERROR(l.need(1, {3, 4}));
  const int64_t count[2] = {l.integer("crop_height"), l.integer("crop_width")};
  WOOTZ_RETURN_IF_ERROR(l.bounded("crop_height times crop_width", {count[0], count[1]}));
  GraphBuilder& b = l.b;
  Value* const map = b.cast(l.in(0), DType::kF32);
  Value* boxes = l.in(1);
  if (boxes->rank() == 4) boxes = b.squeeze(boxes, {3});
  const Rows rows = rows_of_boxes(b, boxes);
  Value *start[2], *step[2], *inside = nullptr;
  for (int a = 0; a < 2; ++a) {
    WOOTZ_ASSIGN_OR_RETURN(const int64_t extent, l.fixed(0, static_cast<size_t>(a) + 2));
    const auto most = static_cast<double>(extent - 1);
    Value *low = rows.side[a], *high = rows.side[a + 2];
    start[a] = b.scale(count[a] > 1 ? low : b.scale(b.add(low, high), 0.5), most);
    step[a] = b.scale(b.sub(high, low), count[a] > 1 ? most / static_cast<double>(count[a] - 1) : 0);
    std::vector<double> numbers;
    for (int64_t i = 0; i < count[a]; ++i) numbers.push_back(static_cast<double>(i));
    Value* const places = b.add(start[a], b.mul(step[a], floats(b, numbers, Dims{1, count[a]})));
    if (b.failed()) return b.status();
    Value* const there = b.op("And", {b.op("GreaterOrEqual", {places, b.scalar(DType::kF32, 0)}),
                                      b.op("LessOrEqual", {places, b.scalar(DType::kF32, most)})});
    Value* const along = b.unsqueeze(b.unsqueeze(there, {1}), {a == 0 ? 3 : 2});
    inside = inside == nullptr ? along : b.op("And", {inside, along});
  }
  Value* const crops = sampled(b, map, around_points(b, start, step, count), rows.image, count[0], count[1], 1);
  if (b.failed()) return b.status();
  Value* const all = where(b, inside, crops, b.scalar(DType::kF32, 0));
  l.out(0, b.cast(by_image(b, all, boxes, count[0], count[1]), l.in(0)->dtype()));
  return b.status();
}

// Of crops of the maps, those of the map that is made for boxes of this area: each is for boxes of four times that of
// the one before.
Value* by_area(GraphBuilder& b, const std::vector<Value*>& crops, Value* area, double threshold) {
  Value* chosen = crops[0];
  for (size_t i = 1; i < crops.size() && !b.failed(); ++i, threshold *= 4) {
    Value* const larger = b.op("Greater", {area, b.scalar(DType::kF32, threshold)});
    chosen = where(b, b.unsqueeze(b.unsqueeze(larger, {2}), {3}), crops[i], chosen);
  }
  return chosen;
}

// Boxes [N, R, 4] in pixels, and maps of strides 4 to 64.
Status expand_multilevel_crop(Layer& l) {
  for (size_t i = 1; i < 6; ++i) WOOTZ_RETURN_IF_ERROR(l.need(i, {4}));
  WOOTZ_RETURN_IF_ERROR(l.need(0, {3}));
  const int64_t size = l.integer("pooled_size");
  WOOTZ_RETURN_IF_ERROR(l.bounded("pooled_size", {size, size}));
  const std::vector<int64_t> image = l.integers("image_size");
  if (image.size() != 3) return l.fail("image_size is not channels, height and width");
  GraphBuilder& b = l.b;
  const Rows rows = rows_of_boxes(b, l.in(0));
  std::vector<Value*> crops;
  for (size_t level = 0; level < 5; ++level) {
    const double scale = 1 / static_cast<double>(int64_t{4} << level);
    const auto at = [&](int i) { return b.scale(rows.side[i], scale); };
    crops.push_back(
        sampled(b, b.cast(l.in(level + 1), DType::kF32), {{at(0), at(1)}, {at(2), at(3)}}, rows.image, size, size, 1));
  }
  Value* const tall = b.sub(rows.side[2], rows.side[0]);
  Value* const wide = b.sub(rows.side[3], rows.side[1]);
  Value* const chosen = by_area(b, crops, b.mul(tall, wide), 224.0 * 224 / 4);
  if (b.failed()) return b.status();
  // Boxes that are empty, or reach out of the image, give nothing.
  Value* good = b.op(
      "And", {b.op("Greater", {tall, b.scalar(DType::kF32, 0)}), b.op("Greater", {wide, b.scalar(DType::kF32, 0)})});
  for (int i = 0; i < 4; ++i) {
    const double most = static_cast<double>(image[static_cast<size_t>(i % 2) + 1]);
    good = b.op("And", {good, b.op("GreaterOrEqual", {rows.side[i], b.scalar(DType::kF32, 0)})});
    good = b.op("And", {good, b.op("LessOrEqual", {rows.side[i], b.scalar(DType::kF32, most)})});
  }
  Value* const kept = where(b, b.unsqueeze(b.unsqueeze(good, {2}), {3}), chosen, b.scalar(DType::kF32, 0));
  l.out(0, b.cast(by_image(b, kept, l.in(0), size, size), l.in(1)->dtype()));
  return b.status();
}

struct Pyramid {
  int64_t size, ratio, transform;
  bool absolute, swapped, plus_one;
  double height, width, threshold;
};

Result<Pyramid> read_pyramid(const Layer& l) {
  const std::vector<int64_t> image = l.integers("image_size");
  if (image.size() != 2 || image[0] < 1 || image[1] < 1) return l.fail("image_size is not a height and a width");
  Pyramid p{l.integer("pooled_size"),      l.integer("sampling_ratio"),   l.integer("roi_coords_transform"),
            l.flag("roi_coords_absolute"), l.flag("roi_coords_swap"),     l.flag("roi_coords_plusone"),
            static_cast<double>(image[0]), static_cast<double>(image[1]), 0};
  const double scale = l.number("fpn_scale");
  p.threshold = scale * scale / (p.height * p.width) / 4;
  if (l.flag("legacy")) {
    p.transform = -1;
    p.absolute = p.plus_one = false;
    p.swapped = true;
    p.ratio = 1;
    p.threshold = 224.0 * 224 * 2 / (1024.0 * 1024) / 16;
  }
  WOOTZ_RETURN_IF_ERROR(l.bounded("pooled_size", {p.size, p.size}));
  if (p.ratio < 0) return l.fail("sampling_ratio is {}", p.ratio);
  if (p.transform < -1 || p.transform > 2) return l.fail("roi_coords_transform is {}; -1 to 2 are known", p.transform);
  if (p.transform == -1 && p.size < 2) return l.fail("pooled_size is 1, which roi_coords_transform -1 cannot have");
  return p;
}

// Of one map: where the bins of relative sides `low` and `high` are.
Bins pyramid_bins(GraphBuilder& b, const Pyramid& p, Value* const* low, Value* const* high, const int64_t* extent) {
  const int64_t count[2] = {p.size, p.size};
  Value *start[2], *step[2];
  for (int a = 0; a < 2; ++a) {
    const bool corners = p.transform == -1;
    const double span = static_cast<double>(corners ? extent[a] - 1 : extent[a]);
    start[a] = b.scale(low[a], span);
    step[a] = b.scale(b.sub(high[a], low[a]), span / static_cast<double>(corners ? p.size - 1 : p.size));
  }
  if (b.failed()) return {};
  if (p.transform == -1) return around_points(b, start, step, count);
  Bins bins{};
  for (int a = 0; a < 2; ++a) {
    if (p.transform == 2) start[a] = b.sub(start[a], b.scalar(DType::kF32, 0.5));
    if (p.transform == 0) {  // samples at the beginnings of their parts of a bin, not in their middles
      Value* parts = b.scalar(DType::kF32, static_cast<double>(p.ratio));
      if (p.ratio == 0) parts = b.op("Max", {b.op("Ceil", {step[a]}), b.scalar(DType::kF32, 1)});
      start[a] = b.sub(start[a], b.div(b.scale(step[a], 0.5), parts));
    }
    bins.first[a] = start[a];
    bins.last[a] = b.add(start[a], b.scale(step[a], static_cast<double>(p.size)));
  }
  return bins;
}

// Boxes [N, R, 4], and maps of four scales.
Status expand_pyramid(Layer& l) {
  WOOTZ_RETURN_IF_ERROR(l.need(0, {3}));
  for (size_t i = 1; i < 5; ++i) WOOTZ_RETURN_IF_ERROR(l.need(i, {4}));
  WOOTZ_ASSIGN_OR_RETURN(const Pyramid p, read_pyramid(l));
  GraphBuilder& b = l.b;
  const Rows rows = rows_of_boxes(b, l.in(0));
  const double most[2] = {p.height, p.width};
  Value *low[2], *high[2], *area = nullptr;
  for (int a = 0; a < 2; ++a) {
    const int first = p.swapped ? a : 1 - a;  // vertical coordinates come first when they are swapped
    Value *one = rows.side[first], *other = rows.side[first + 2];
    const auto inside = [&](Value* v) {
      return p.absolute ? b.scale(clip(b, v, 0, most[a]), 1 / most[a]) : clip(b, v, 0, 1);
    };
    low[a] = inside(b.op("Min", {one, other}));
    high[a] = inside(b.op("Max", {one, other}));
    Value* side = b.sub(high[a], low[a]);
    if (b.failed()) return b.status();
    if (p.plus_one) side = b.add(side, b.scalar(DType::kF32, 1 / most[a]));
    area = area == nullptr ? side : b.mul(area, side);
  }
  std::vector<Value*> crops;
  for (size_t level = 1; level < 5; ++level) {
    int64_t extent[2];
    WOOTZ_ASSIGN_OR_RETURN(extent[0], l.fixed(level, 2));
    WOOTZ_ASSIGN_OR_RETURN(extent[1], l.fixed(level, 3));
    const Bins bins = pyramid_bins(b, p, low, high, extent);
    crops.push_back(sampled(b, b.cast(l.in(level), DType::kF32), bins, rows.image, p.size, p.size, p.ratio));
  }
  Value* const chosen = by_area(b, crops, area, p.threshold);
  l.out(0, b.cast(by_image(b, chosen, l.in(0), p.size, p.size), l.in(1)->dtype()));
  return b.status();
}

using enum FieldType;
constexpr Field kCrop[] = {{"crop_width", kInt, nullptr}, {"crop_height", kInt, nullptr}};
constexpr Field kMultilevel[] = {{"pooled_size", kInt, nullptr}, {"image_size", kInt, "3,832,1344"}};
constexpr Field kPyramid[] = {
    {"fpn_scale", kInt, "224"},          {"pooled_size", kInt, "7"},     {"image_size", kInt, "1024,1024"},
    {"roi_coords_absolute", kInt, "1"},  {"roi_coords_swap", kInt, "0"}, {"roi_coords_plusone", kInt, "0"},
    {"roi_coords_transform", kInt, "2"}, {"sampling_ratio", kInt, "0"},  {"legacy", kInt, "0"}};
constexpr const char* kCropWhat = "TensorFlow's crop_and_resize of boxes relative to the map";

}  // namespace

std::span<const Plugin> crop_plugins() {
  static constexpr Plugin kCropsPlugins[] = {
      {"CropAndResize", "1", Interface::kV2, kCrop, 2, 2, 1, expand_crop_and_resize, kCropWhat},
      {"CropAndResizeDynamic", "1", Interface::kV2, kCrop, 2, 2, 1, expand_crop_and_resize, kCropWhat},
      {"MultilevelCropAndResize_TRT", "1", Interface::kV2, kMultilevel, 6, 6, 1, expand_multilevel_crop,
       "boxes in pixels, each sampled from the one of five maps that its area asks for"},
      {"PyramidROIAlign_TRT", "1", Interface::kV2, kPyramid, 5, 5, 1, expand_pyramid,
       "RoiAlign of boxes, each of the one of four maps that its area asks for"},
  };
  return kCropsPlugins;
}

}  // namespace wootz::stock
