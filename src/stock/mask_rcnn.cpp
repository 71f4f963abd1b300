// What Mask R-CNN's plugins find: proposals of regions, and detections in them. Boxes are [y1, x1, y2, x2].
#include <algorithm>
#include <array>
#include <cmath>

#include "stock/nms.h"
#include "stock/tables.h"

namespace wootz::stock {
namespace {

constexpr double kLeastScore = 0.01;  // of what is shown

// How corrections are applied to boxes: both kinds of model have their own.
struct Decoding {
  std::array<double, 4> factors;
  bool pixels = false;  // the last pixel belongs to a box, and logarithms of sizes are bounded
  double height = 1, width = 1;
};

Value* row(GraphBuilder& b, std::vector<double> values) {
  const auto count = static_cast<int64_t>(values.size());
  return floats(b, values, Dims{1, 1, count});
}

// Boxes [N or 1, A, 4] with corrections [N, A, 4] (dy, dx, log dh, log dw), inside of the image.
Value* corrected(GraphBuilder& b, Value* boxes, Value* deltas, const Decoding& d) {
  if (b.failed()) return nullptr;
  const double plus = d.pixels ? 1 : 0;
  Value* const factors = row(b, {d.factors.begin(), d.factors.end()});
  Value* const scaled = b.mul(deltas, factors);
  Value *low = columns(b, boxes, 0, 2), *high = columns(b, boxes, 2, 4), *change = columns(b, scaled, 2, 4);
  if (b.failed()) return nullptr;
  if (d.pixels) change = b.op("Min", {change, b.scalar(DType::kF32, std::log(1000.0 / 16))});
  Value* const size = b.add(b.sub(high, low), b.scalar(DType::kF32, plus));
  Value* const middle = b.add(b.add(low, b.scale(size, 0.5)), b.mul(columns(b, scaled, 0, 2), size));
  Value* const now = b.mul(b.op("Exp", {change}), size);
  if (b.failed()) return nullptr;
  Value* const first = b.sub(middle, b.scale(now, 0.5));
  Value* const last = b.add(first, b.sub(now, b.scalar(DType::kF32, plus)));
  Value* const all = b.concat({first, last}, -1);
  const double bottom = d.height - plus, right = d.width - plus;
  return b.op("Max", {b.op("Min", {all, row(b, {bottom, right, bottom, right})}), row(b, {0, 0, 0, 0})});
}

// [N, A, k, 1..] as [N, A, k] in FP32.
Value* flat(Layer& l, size_t input, int64_t last) {
  return l.b.reshape(l.b.cast(l.in(input), DType::kF32), std::vector<int64_t>{0, 0, last});
}

// The best boxes of one list: scores [N, A], boxes [N, A, 4]. The `first` best are looked at.
Kept best_boxes(GraphBuilder& b, Value* scores, Value* boxes, int64_t first, const NmsLimits& limits) {
  if (b.failed()) return {};
  const Dim& all = scores->shape()[1];
  if (!all.is_const() || all.value() > first) {
    const auto [top, index] = largest(b, all.is_const() ? scores : pad_end(b, scores, 1, first, kNoScore), first);
    boxes = rows_of(b, all.is_const() ? boxes : pad_end(b, boxes, 1, first, 0), index);
    scores = top;
  }
  return keep_best(b, {b.unsqueeze(boxes, {1}), b.unsqueeze(scores, {1})}, limits);
}

Status check_counts(const Layer& l, int64_t first, int64_t keep) {
  WOOTZ_RETURN_IF_ERROR(l.bounded("prenms_topk", {first}));
  return l.bounded("keep_topk", {keep});
}

// Height and width of the field image_size (channels, height, width).
Result<std::pair<int64_t, int64_t>> image_of(const Layer& l) {
  const std::vector<int64_t> size = l.integers("image_size");
  if (size.size() != 3 || size[1] < 2 || size[2] < 2) return l.fail("image_size is not channels, height and width");
  WOOTZ_RETURN_IF_ERROR(l.bounded("the number of anchors", {size[1], size[2]}));
  return std::pair(size[1], size[2]);
}

Status check_anchors(const Layer& l, size_t input, int64_t anchors) {
  WOOTZ_ASSIGN_OR_RETURN(const int64_t given, l.fixed(input, 1));
  if (given == anchors) return {};
  return l.fail("input {} is {}, and an image of this size has {} anchors", input, shape_to_string(l.shape(input)),
                anchors);
}

Status expand_proposal(Layer& l) {
  WOOTZ_RETURN_IF_ERROR(l.need(0, {3, 4}));
  WOOTZ_RETURN_IF_ERROR(l.need(1, {3, 4}));
  const int64_t first = l.integer("prenms_topk"), keep = l.integer("keep_topk");
  WOOTZ_RETURN_IF_ERROR(check_counts(l, first, keep));
  WOOTZ_ASSIGN_OR_RETURN(const auto image, image_of(l));
  const auto height = static_cast<double>(image.first - 1), width = static_cast<double>(image.second - 1);
  std::vector<double> anchors;
  for (int level = 0; level < 5; ++level) {
    const int64_t stride = int64_t{4} << level;
    const auto scale = static_cast<double>(32 << level);
    for (int64_t y = 0; y < image.first; y += stride)
      for (int64_t x = 0; x < image.second; x += stride)
        for (const double ratio : {0.5, 1.0, 2.0}) {
          const double h = scale / std::sqrt(ratio), w = scale * std::sqrt(ratio);
          const auto v = static_cast<double>(y), u = static_cast<double>(x);
          anchors.insert(anchors.end(), {(v - h / 2) / height, (u - w / 2) / width, (v + h / 2 - 1) / height,
                                         (u + w / 2 - 1) / width});
        }
  }
  const auto count = static_cast<int64_t>(anchors.size() / 4);
  WOOTZ_RETURN_IF_ERROR(check_anchors(l, 0, count));
  GraphBuilder& b = l.b;
  Value* const boxes = corrected(b, floats(b, anchors, Dims{1, count, 4}), flat(l, 1, 4), {{0.1, 0.1, 0.2, 0.2}});
  Value* const scores = b.squeeze(columns(b, flat(l, 0, 2), 1, 2), {2});
  const Kept kept = best_boxes(b, scores, boxes, first, {l.number("iou_threshold"), kLeastScore, keep, keep});
  l.out(0, b.cast(masked(b, kept, kept.boxes, 0), l.in(0)->dtype()));
  return b.status();
}

// Per level, corrections [N, A, 4, 1] and scores [N, A, 1, 1].
Status expand_multilevel(Layer& l) {
  const int64_t first = l.integer("prenms_topk"), keep = l.integer("keep_topk");
  WOOTZ_RETURN_IF_ERROR(check_counts(l, first, keep));
  WOOTZ_ASSIGN_OR_RETURN(const auto image, image_of(l));
  const Decoding decoding{{1, 1, 1, 1}, true, static_cast<double>(image.first), static_cast<double>(image.second)};
  GraphBuilder& b = l.b;
  std::vector<Value*> scores, boxes;
  for (size_t level = 0; level < 5; ++level) {
    WOOTZ_RETURN_IF_ERROR(l.need(2 * level, {3, 4}));
    WOOTZ_RETURN_IF_ERROR(l.need(2 * level + 1, {3, 4}));
    const int64_t stride = int64_t{4} << level;
    const auto scale = static_cast<double>(8 * stride);
    std::vector<double> anchors;
    for (int64_t y = stride / 2; y < image.first; y += stride)
      for (int64_t x = stride / 2; x < image.second; x += stride)
        for (const auto& [across, down] : {std::pair{1.0, 1.0}, {1.4, 0.7}, {0.7, 1.4}}) {
          const double h = scale * down / 2, w = scale * across / 2;
          const auto v = static_cast<double>(y), u = static_cast<double>(x);
          anchors.insert(anchors.end(), {v - h, u - w, v + h, u + w});
        }
    const auto count = static_cast<int64_t>(anchors.size() / 4);
    WOOTZ_RETURN_IF_ERROR(check_anchors(l, 2 * level, count));
    Value* const all = corrected(b, floats(b, anchors, Dims{1, count, 4}), flat(l, 2 * level, 4), decoding);
    const NmsLimits limits{l.number("iou_threshold"), below(l.number("fg_threshold")), keep, keep};
    const Kept kept = best_boxes(b, b.squeeze(flat(l, 2 * level + 1, 1), {2}), all, first, limits);
    scores.push_back(masked(b, kept, kept.scores, 0));
    boxes.push_back(masked(b, kept, kept.boxes, 0));
  }
  const auto [best, index] = largest(b, b.concat(scores, 1), keep);
  l.out(0, b.cast(rows_of(b, b.concat(boxes, 1), index), l.in(0)->dtype()));
  return b.status();
}

// The best class of each region of interest, its corrected box, and of these the best of each class. `first`: classes
// before it are never the best.
Status detections(Layer& l, const Decoding& decoding, int64_t first) {
  WOOTZ_RETURN_IF_ERROR(l.need(0, {3, 5}));
  WOOTZ_RETURN_IF_ERROR(l.need(1, {3, 5}));
  WOOTZ_RETURN_IF_ERROR(l.need(2, {3}));
  const int64_t classes = l.integer("num_classes"), keep = l.integer("keep_topk");
  WOOTZ_RETURN_IF_ERROR(check_counts(l, 1, keep));
  WOOTZ_RETURN_IF_ERROR(l.bounded("num_classes", {classes}));
  if (classes < 2) return l.fail("num_classes is {}; the background is one of 2 or more", classes);
  GraphBuilder& b = l.b;
  Value* const scores = flat(l, 1, classes);
  Value* const deltas = b.reshape(b.cast(l.in(0), DType::kF32), std::vector<int64_t>{0, 0, classes, 4});
  Value* const open = columns(b, scores, first, classes);
  Value* const best = b.reduce("max", open, {2}, false);
  Value* which =
      b.op("ArgReduce", {open}, {{"kind", std::string("argmax")}, {"axis", int64_t{2}}, {"keepdims", int64_t{0}}});
  if (b.failed()) return b.status();
  if (first > 0) which = b.add(which, b.scalar(DType::kI64, static_cast<double>(first)));
  Value* const delta = b.op("GatherND", {deltas, b.unsqueeze(which, {2})}, {{"batch_dims", int64_t{2}}});
  Value* const boxes = corrected(b, b.cast(l.in(2), DType::kF32), delta, decoding);
  std::vector<int64_t> numbers;
  for (int64_t c = 0; c < classes; ++c) numbers.push_back(c);
  Value* const here =
      b.op("Equal", {b.unsqueeze(which, {1}), b.reshape(b.ints(numbers), std::vector<int64_t>{1, classes, 1})});
  if (b.failed()) return b.status();
  Value* const by_class = where(b, here, b.unsqueeze(best, {1}), b.scalar(DType::kF32, kNoScore));
  const NmsLimits limits{l.number("iou_threshold"), std::max(below(l.number("score_threshold")), kLeastScore), keep,
                         keep};
  const Kept kept = keep_best(b, {b.unsqueeze(boxes, {1}), without_class(b, by_class, 0)}, limits);
  const auto column = [&](Value* v) { return b.unsqueeze(b.cast(v, DType::kF32), {2}); };
  Value* const table = b.concat({masked(b, kept, kept.boxes, 0), column(masked(b, kept, kept.classes, -1)),
                                 column(masked(b, kept, kept.scores, 0))},
                                2);
  l.out(0, b.cast(table, l.in(0)->dtype()));
  return b.status();
}

Status expand_detection(Layer& l) { return detections(l, {{0.1, 0.1, 0.2, 0.2}}, 0); }

Status expand_generate(Layer& l) {
  WOOTZ_ASSIGN_OR_RETURN(const auto image, image_of(l));
  return detections(
      l, {{0.1, 0.1, 0.2, 0.2}, true, static_cast<double>(image.first), static_cast<double>(image.second)}, 1);
}

using enum FieldType;
constexpr Field kProposal[] = {{"prenms_topk", kInt, "1024"},
                               {"keep_topk", kInt, "1000"},
                               {"iou_threshold", kFloat, "0.7"},
                               {"image_size", kInt, "3,1024,1024"}};
constexpr Field kMultilevel[] = {{"prenms_topk", kInt, "1000"},
                                 {"keep_topk", kInt, "1000"},
                                 {"fg_threshold", kFloat, "0"},
                                 {"iou_threshold", kFloat, "0.7"},
                                 {"image_size", kInt, "3,832,1344"}};
constexpr Field kDetection[] = {{"num_classes", kInt, nullptr},
                                {"keep_topk", kInt, "100"},
                                {"score_threshold", kFloat, "0.7"},
                                {"iou_threshold", kFloat, "0.3"}};
constexpr Field kGenerate[] = {{"num_classes", kInt, nullptr},
                               {"keep_topk", kInt, nullptr},
                               {"score_threshold", kFloat, nullptr},
                               {"iou_threshold", kFloat, nullptr},
                               {"image_size", kInt, "3,832,1344"}};

}  // namespace

std::span<const Plugin> mask_rcnn_plugins() {
  static constexpr Plugin kMaskRcnnPlugins[] = {
      {"ProposalLayer_TRT", "1", Interface::kV2, kProposal, 2, 2, 1, expand_proposal,
       "Mask R-CNN's regions, relative to the image, from the anchors of its five maps"},
      {"MultilevelProposeROI_TRT", "1", Interface::kV2, kMultilevel, 10, 10, 1, expand_multilevel,
       "TAO's regions in pixels: of each of five maps, and of these the best"},
      {"DetectionLayer_TRT", "1", Interface::kV2, kDetection, 3, 3, 1, expand_detection,
       "Mask R-CNN's detections, as rows of box, class and score"},
      {"GenerateDetection_TRT", "1", Interface::kV2, kGenerate, 3, 3, 1, expand_generate,
       "TAO's detections in pixels, as rows of box, class and score"},
  };
  return kMaskRcnnPlugins;
}

}  // namespace wootz::stock
