// EfficientNMS_TRT and its relatives.
#include <cmath>

#include "stock/nms.h"
#include "stock/tables.h"

namespace wootz::stock {
namespace {

// Boxes as [N, B, C or 1, 4] and scores as [N, B, C].
Status check_boxes_and_scores(Layer& l) {
  WOOTZ_RETURN_IF_ERROR(l.need(0, {3, 4}));
  WOOTZ_RETURN_IF_ERROR(l.need(1, {3, 4}));
  const Dim& last = l.shape(0).back();
  if (!(last == Dim(4))) return l.fail("boxes {} do not have 4 coordinates", shape_to_string(l.shape(0)));
  if (l.in(1)->rank() == 4 && !(l.shape(1)[3] == Dim(1)))
    return l.fail("scores {} must be [images, boxes, classes]", shape_to_string(l.shape(1)));
  return {};
}

Value* in_f32(Layer& l, size_t i) { return l.b.cast(l.in(i), DType::kF32); }

// [N, B, C or 1, 4] in FP32, in the coding that they are given in.
Value* boxes_of(Layer& l, size_t input) {
  Value* const boxes = in_f32(l, input);
  return !l.b.failed() && boxes->rank() == 3 ? l.b.unsqueeze(boxes, {2}) : boxes;
}

// Corners in ascending order.
Value* ordered(GraphBuilder& b, Value* boxes) {
  Value *low = columns(b, boxes, 0, 2), *high = columns(b, boxes, 2, 4);
  return b.concat({b.op("Min", {low, high}), b.op("Max", {low, high})}, -1);
}

// Corrections of anchors, as boxes in the same coding.
Value* decoded(GraphBuilder& b, Value* boxes, Value* anchors, bool center) {
  if (!center) return b.add(ordered(b, boxes), ordered(b, anchors));
  Value* const size = columns(b, anchors, 2, 4);
  Value* const middle = b.add(b.mul(columns(b, boxes, 0, 2), size), columns(b, anchors, 0, 2));
  return b.concat({middle, b.mul(size, b.op("Exp", {columns(b, boxes, 2, 4)}))}, -1);
}

Value* corners(GraphBuilder& b, Value* boxes) {
  Value *middle = columns(b, boxes, 0, 2), *reach = b.scale(columns(b, boxes, 2, 4), 0.5);
  return b.concat({b.sub(middle, reach), b.add(middle, reach)}, -1);
}

struct Wanted {
  int64_t most = 0, per_class = -1, background = -1;
  double score = 0, iou = 0;
  bool sigmoid = false, agnostic = false, center = false, clip = false;
};

// A threshold on what a sigmoid gives, for what it is given.
double before_sigmoid(double threshold) {
  if (threshold <= 0) return -32768;
  return threshold >= 1 ? 1e30 : std::log(threshold / (1 - threshold));
}

Value* decoded_corners(Layer& l, const Wanted& w) {
  GraphBuilder& b = l.b;
  Value* boxes = boxes_of(l, 0);
  if (l.has(2)) boxes = decoded(b, boxes, boxes_of(l, 2), w.center);
  return w.center ? corners(b, boxes) : boxes;
}

NmsLimits limits_of(const Wanted& w) {
  return {below(w.iou), below(w.sigmoid ? before_sigmoid(w.score) : w.score),
          w.per_class > 0 ? std::min(w.per_class, w.most) : w.most, w.most};
}

Value* scores_by_class(Layer& l, const Wanted& w) {
  Value* scores = in_f32(l, 1);
  if (!l.b.failed() && scores->rank() == 4) scores = l.b.squeeze(scores, {3});
  return without_class(l.b, l.b.transpose(scores, {0, 2, 1}), w.background);
}

Kept suppressed(Layer& l, const Wanted& w) {
  return keep_best(l.b, {l.b.transpose(decoded_corners(l, w), {0, 2, 1, 3}), scores_by_class(l, w)}, limits_of(w));
}

// Classes together. One box for all classes hides itself under the others: its best class is all that is kept of it.
Kept suppressed_together(Layer& l, const Wanted& w) {
  GraphBuilder& b = l.b;
  Value *boxes = decoded_corners(l, w), *scores = scores_by_class(l, w);
  if (b.failed()) return {};
  if (boxes->shape()[2] == Dim(1)) {
    Value* const best = b.reduce("max", scores, {1}, true);
    Value* const which =
        b.op("ArgReduce", {scores}, {{"kind", std::string("argmax")}, {"axis", int64_t{1}}, {"keepdims", int64_t{0}}});
    Kept kept = keep_best(b, {b.transpose(boxes, {0, 2, 1, 3}), best}, limits_of(w));
    kept.classes = rows_of(b, which, kept.index);
    return kept;
  }
  // Boxes of their own: all of them, in one list.
  Value* const classes = b.extent(scores, 1);
  boxes = b.op("Reshape", {boxes, b.concat({b.extent(boxes, 0), b.ints({1, -1, 4})}, 0)});
  scores = b.op("Reshape", {b.transpose(scores, {0, 2, 1}), b.concat({b.extent(scores, 0), b.ints({1, -1})}, 0)});
  Kept kept = keep_best(b, {boxes, scores}, limits_of(w));
  kept.classes = b.op("Mod", {kept.index, b.as_scalar(classes)});
  return kept;
}

Status give(Layer& l, const Wanted& w, const Kept& kept) {
  GraphBuilder& b = l.b;
  const DType type = l.in(0)->dtype();
  Value* boxes = w.clip ? clip(b, kept.boxes, 0, 1) : kept.boxes;
  Value* scores = w.sigmoid ? b.op("Sigmoid", {kept.scores}) : kept.scores;
  l.out(0, kept.count);
  l.out(1, b.cast(masked(b, kept, boxes, 0), type));
  l.out(2, b.cast(masked(b, kept, scores, 0), type));
  l.out(3, b.cast(masked(b, kept, kept.classes, 0), DType::kI32));
  return b.status();
}

Status check(Layer& l, const Wanted& w) {
  WOOTZ_RETURN_IF_ERROR(check_boxes_and_scores(l));
  WOOTZ_RETURN_IF_ERROR(l.bounded("the number of boxes to be kept", {w.most}));
  if (!l.has(2)) return {};
  return l.need(2, {3});
}

Status expand_efficient(Layer& l) {
  Wanted w;
  w.score = l.number("score_threshold");
  w.iou = l.number("iou_threshold");
  w.most = l.integer("max_output_boxes");
  w.background = l.integer("background_class");
  w.sigmoid = l.flag("score_activation");
  w.agnostic = l.flag("class_agnostic");
  const int64_t coding = l.integer("box_coding");
  if (coding != 0 && coding != 1)
    return l.fail("box_coding is {}; 0 (corners) and 1 (center and size) are known", coding);
  w.center = coding == 1;
  WOOTZ_RETURN_IF_ERROR(check(l, w));
  return give(l, w, w.agnostic ? suppressed_together(l, w) : suppressed(l, w));
}

// TensorFlow's CombinedNonMaxSuppression.
Status expand_tensorflow(Layer& l) {
  Wanted w;
  w.score = l.number("score_threshold");
  w.iou = l.number("iou_threshold");
  w.most = l.integer("max_total_size");
  w.per_class = l.integer("max_output_size_per_class");
  w.clip = l.flag("clip_boxes");
  WOOTZ_RETURN_IF_ERROR(check(l, w));
  if (l.flag("pad_per_class") && w.per_class > 0) {
    WOOTZ_ASSIGN_OR_RETURN(const int64_t classes, l.fixed(1, 2));
    WOOTZ_RETURN_IF_ERROR(l.bounded("max_output_size_per_class", {w.per_class, classes}));
    w.most = std::min(w.most, w.per_class * classes);
  }
  return give(l, w, suppressed(l, w));
}

// Rows of image, class and box, first those that are kept; the last of them fills up.
Status expand_onnx(Layer& l) {
  Wanted w;
  w.score = l.number("score_threshold");
  w.iou = l.number("iou_threshold");
  w.most = w.per_class = l.integer("max_output_boxes_per_class");
  w.center = l.flag("center_point_box");
  WOOTZ_RETURN_IF_ERROR(check(l, w));
  WOOTZ_ASSIGN_OR_RETURN(const int64_t images, l.fixed(0, 0));
  GraphBuilder& b = l.b;
  const Kept kept = suppressed(l, w);
  WOOTZ_RETURN_IF_ERROR(l.bounded("the number of rows", {images, w.most}));
  const int64_t rows = images * w.most;
  std::vector<int64_t> numbers;
  std::vector<double> falling;
  for (int64_t i = 0; i < rows; ++i) {
    numbers.push_back(i / w.most);
    falling.push_back(static_cast<double>(rows - i));
  }
  const auto column = [&](Value* v) { return b.reshape(v, std::vector<int64_t>{rows, 1}); };
  Value* const table = b.concat({column(b.ints(numbers)), column(kept.classes), column(kept.index)}, 1);
  // Those that are kept come first, in their order.
  Value* const flat = b.reshape(kept.valid, std::vector<int64_t>{rows});
  Value* const rank = where(b, flat, floats(b, falling, Dims{rows}), b.scalar(DType::kF32, 0));
  const auto [sorted, order] = largest(b, rank, rows);
  Value* const filled = b.op("Greater", {sorted, b.scalar(DType::kF32, 0)});
  Value* const count = b.reduce("sum", b.cast(filled, DType::kI64), {0}, true);
  Value* const last = b.op("Max", {b.sub(count, b.ints({1})), b.ints({0})});
  std::vector<int64_t> up;
  for (int64_t i = 0; i < rows; ++i) up.push_back(i);
  Value* const from = b.op("Gather", {order, b.op("Min", {b.ints(up), last})}, {{"axis", int64_t{0}}});
  Value* const picked = b.op("Gather", {table, from}, {{"axis", int64_t{0}}});
  Value* const any = b.op("Greater", {count, b.ints({0})});
  l.out(0, b.cast(where(b, any, picked, b.scalar(DType::kI64, -1)), DType::kI32));
  return b.status();
}

using enum FieldType;
constexpr Field kEfficient[] = {{"score_threshold", kFloat, "0.5"}, {"iou_threshold", kFloat, "0.5"},
                                {"max_output_boxes", kInt, "100"},  {"background_class", kInt, "-1"},
                                {"score_activation", kInt, "0"},    {"class_agnostic", kInt, "0"},
                                {"box_coding", kInt, "0"}};
constexpr Field kOnnx[] = {{"score_threshold", kFloat, "0.5"},
                           {"iou_threshold", kFloat, "0.5"},
                           {"max_output_boxes_per_class", kInt, "100"},
                           {"center_point_box", kInt, "0"}};
constexpr Field kTensorflow[] = {
    {"max_output_size_per_class", kInt, "-1"}, {"max_total_size", kInt, "100"}, {"iou_threshold", kFloat, "0.5"},
    {"score_threshold", kFloat, "0.5"},        {"pad_per_class", kInt, "0"},    {"clip_boxes", kInt, "0"}};

}  // namespace

std::span<const Plugin> efficient_nms_plugins() {
  static constexpr Plugin kEfficientNmsPlugins[] = {
      {"EfficientNMS_TRT", "1", Interface::kV2, kEfficient, 2, 3, 4, expand_efficient,
       "the best boxes of an image, per class or together, from boxes or from corrections of anchors"},
      {"EfficientNMS_ONNX_TRT", "1", Interface::kV2, kOnnx, 2, 2, 1, expand_onnx,
       "rows of image, class and box, of which the last one repeats"},
      {"EfficientNMS_Explicit_TF_TRT", "1", Interface::kV2, kTensorflow, 2, 2, 4, expand_tensorflow,
       "TensorFlow's CombinedNonMaxSuppression"},
      {"EfficientNMS_Implicit_TF_TRT", "1", Interface::kV2, kTensorflow, 2, 2, 4, expand_tensorflow,
       "the same; the batch is a dimension of inputs and outputs here too"},
  };
  return kEfficientNmsPlugins;
}

}  // namespace wootz::stock
