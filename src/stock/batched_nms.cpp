// BatchedNMS_TRT, and NMS_TRT, which decodes its boxes first.
#include <algorithm>

#include "stock/nms.h"
#include "stock/tables.h"

namespace wootz::stock {
namespace {

struct Settings {
  int64_t background = -1, classes = 0, top = 0, keep = 0;
  double score = 0, iou = 0;
  bool normalized = true;
};

Status check(const Layer& l, const Settings& s) {
  WOOTZ_RETURN_IF_ERROR(l.bounded("keepTopK", {s.keep}));
  if (s.top > Layer::kMostMade) return l.fail("topK is {}, the limit is {}", s.top, Layer::kMostMade);
  if (s.top > 0 && s.keep > s.top) return l.fail("keepTopK is {}, more than topK, which is {}", s.keep, s.top);
  return {};
}

// The best `top` boxes of each class, when there may be more.
Candidates best_of_classes(GraphBuilder& b, const Candidates& all, int64_t top) {
  if (b.failed() || top < 1) return all;
  const Dim& boxes = all.scores->shape()[2];
  if (boxes.is_const() && boxes.value() <= top) return all;
  const int64_t missing = boxes.is_const() ? 0 : top;
  const auto [scores, index] = largest(b, pad_end(b, all.scores, 2, missing, kNoScore), top);
  Value* const padded = pad_end(b, all.boxes, 2, missing, 0);
  if (b.failed()) return all;
  Value* const each =
      all.boxes->shape()[1] == Dim(1) && !(all.scores->shape()[1] == Dim(1))
          ? expand_to(b, padded, {b.extent(padded, 0), b.extent(scores, 1), b.extent(padded, 2), b.ints({4})})
          : padded;
  return {b.op("GatherND", {each, b.unsqueeze(index, {-1})}, {{"batch_dims", int64_t{2}}}), scores};
}

// Boxes of pixels: the last one belongs to them.
Value* with_last_pixel(GraphBuilder& b, Value* boxes) {
  Value *low = columns(b, boxes, 0, 2), *high = columns(b, boxes, 2, 4);
  Value* const last = b.op("Max", {low, high});
  return b.concat({b.op("Min", {low, high}), b.failed() ? nullptr : b.add(last, b.scalar(DType::kF32, 1))}, -1);
}

Kept suppressed(GraphBuilder& b, Candidates all, const Settings& s) {
  all.scores = without_class(b, all.scores, s.background);
  all = best_of_classes(b, all, s.top);
  if (!s.normalized) all.reach = with_last_pixel(b, all.boxes);
  return keep_best(b, all, {s.iou, s.score, s.keep, s.keep});
}

Status expand_batched(Layer& l) {
  WOOTZ_RETURN_IF_ERROR(l.need(0, {3, 4}));
  WOOTZ_RETURN_IF_ERROR(l.need(1, {3, 4}));
  Settings s;
  s.background = l.integer("backgroundLabelId");
  s.classes = l.integer("numClasses");
  s.top = l.integer("topK");
  s.keep = l.integer("keepTopK");
  s.score = l.number("scoreThreshold");
  s.iou = l.number("iouThreshold");
  s.normalized = l.flag("isNormalized");
  WOOTZ_RETURN_IF_ERROR(check(l, s));
  if (!s.normalized && !l.flag("caffeSemantics"))
    return l.fail("isNormalized 0 with caffeSemantics 0 measures overlaps and areas differently, which is not offered");
  GraphBuilder& b = l.b;
  const DType type = l.in(0)->dtype();
  Value* boxes = b.cast(l.in(0), DType::kF32);
  Value* scores = b.cast(l.in(1), DType::kF32);
  if (l.in(0)->rank() == 3) boxes = b.unsqueeze(boxes, {2});
  if (l.in(1)->rank() == 4) scores = b.squeeze(scores, {3});
  if (b.failed()) return b.status();
  const Dim &own = boxes->shape()[2], &classes = scores->shape()[2];
  if (s.classes > 0 && classes.is_const() && classes.value() != s.classes)
    return l.fail("numClasses is {}, the scores are {}", s.classes, shape_to_string(l.shape(1)));
  if (own.is_const() && l.flag("shareLocation") != (own.value() == 1) && !(classes == Dim(1)))
    return l.fail("shareLocation is {} for boxes {}", l.flag("shareLocation"), shape_to_string(l.shape(0)));
  const Kept kept = suppressed(b, {b.transpose(boxes, {0, 2, 1, 3}), b.transpose(scores, {0, 2, 1})}, s);
  Value* const shown = l.flag("clipBoxes") ? clip(b, kept.boxes, 0, 1) : kept.boxes;
  l.out(0, kept.count);
  l.out(1, b.cast(masked(b, kept, shown, 0), type));
  l.out(2, b.cast(masked(b, kept, kept.scores, 0), type));
  l.out(3, b.cast(masked(b, kept, kept.classes, -1), type));
  return b.status();
}

enum class Coding : int64_t { kCorner, kCenterSize, kCornerSize, kTfCenter };

// Predictions [N, C or 1, P, 4] against priors and their variances [N, 1, P, 4].
Value* decoded(GraphBuilder& b, Value* loc, Value* priors, Value* variances, Coding coding, bool encoded) {
  if (coding == Coding::kTfCenter)  // vertical coordinates first
    loc = b.concat({columns(b, loc, 1, 2), columns(b, loc, 0, 1), columns(b, loc, 3, 4), columns(b, loc, 2, 3)}, -1);
  if (!encoded || coding == Coding::kTfCenter) loc = b.mul(loc, variances);
  if (coding == Coding::kCorner) return b.add(priors, loc);
  Value *low = columns(b, priors, 0, 2), *high = columns(b, priors, 2, 4);
  Value* const size = b.sub(high, low);
  if (coding == Coding::kCornerSize) return b.add(priors, b.mul(loc, b.concat({size, size}, -1)));
  Value* const middle = b.add(b.mul(columns(b, loc, 0, 2), size), b.scale(b.add(low, high), 0.5));
  Value* const reach = b.scale(b.mul(b.op("Exp", {columns(b, loc, 2, 4)}), size), 0.5);
  return b.concat({b.sub(middle, reach), b.add(middle, reach)}, -1);
}

// [N, ..] as [N, rest..] with the last extents known.
Value* rows(GraphBuilder& b, Value* x, std::vector<int64_t> last) {
  Value* const flat = b.cast(x, DType::kF32);
  last.insert(last.begin(), 0);
  return b.reshape(flat, last);
}

Status expand_detection_output(Layer& l) {
  std::vector<int64_t> order = l.integers("inputOrder");
  std::vector<int64_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != std::vector<int64_t>{0, 1, 2}) return l.fail("inputOrder is not an order of 0, 1 and 2");
  for (size_t i = 0; i < 3; ++i) WOOTZ_RETURN_IF_ERROR(l.need(i, {}));
  const int64_t code = l.integer("codeType"), classes = l.integer("numClasses");
  if (code < 0 || code > 3) return l.fail("codeType is {}; 0 to 3 are known", code);
  WOOTZ_RETURN_IF_ERROR(l.bounded("numClasses", {classes}));
  Settings s;
  s.background = l.integer("backgroundLabelId");
  s.top = l.integer("topK");
  s.keep = l.integer("keepTopK");
  s.score = l.number("confidenceThreshold");
  s.iou = l.number("nmsThreshold");
  s.normalized = l.flag("isNormalized");
  WOOTZ_RETURN_IF_ERROR(check(l, s));
  GraphBuilder& b = l.b;
  const auto input = [&](size_t i) { return l.in(static_cast<size_t>(order[i])); };
  const DType type = input(0)->dtype();
  const int64_t own = l.flag("shareLocation") ? 1 : classes;
  Value* const loc = b.transpose(rows(b, input(0), {-1, own, 4}), {0, 2, 1, 3});
  Value* conf = b.transpose(rows(b, input(1), {-1, classes}), {0, 2, 1});
  if (l.flag("confSigmoid")) conf = b.op("Sigmoid", {conf});
  Value* prior = rows(b, input(2), {2, -1, 4});
  if (l.flag("isBatchAgnostic")) prior = b.slice(prior, 0, 0, 1);
  Value* const boxes = decoded(b, loc, b.slice(prior, 1, 0, 1), b.slice(prior, 1, 1, 2), static_cast<Coding>(code),
                               l.flag("varianceEncodedInTarget"));
  const Kept kept = suppressed(b, {boxes, conf}, s);
  if (b.failed()) return b.status();
  Value* const nothing = b.mul(b.cast(kept.index, DType::kF32), b.scalar(DType::kF32, 0));
  Value* const number = b.add(nothing, b.unsqueeze(b.cast(count_up(b, kept.scores, 0), DType::kF32), {1}));
  const auto column = [&](Value* v) { return b.unsqueeze(v, {2}); };
  Value* const table =
      b.concat({column(number), column(b.cast(masked(b, kept, kept.classes, -1), DType::kF32)),
                column(masked(b, kept, kept.scores, 0)), masked(b, kept, clip(b, kept.boxes, 0, 1), 0)},
               2);
  l.out(0, b.cast(b.unsqueeze(table, {1}), type));
  l.out(1, b.unsqueeze(b.unsqueeze(kept.count, {2}), {3}));
  return b.status();
}

using enum FieldType;
constexpr Field kBatched[] = {
    {"shareLocation", kInt, "1"},    {"backgroundLabelId", kInt, "-1"}, {"numClasses", kInt, nullptr},
    {"topK", kInt, nullptr},         {"keepTopK", kInt, nullptr},       {"scoreThreshold", kFloat, "0"},
    {"iouThreshold", kFloat, "0.5"}, {"isNormalized", kInt, "1"},       {"clipBoxes", kInt, "1"},
    {"scoreBits", kInt, "16"},       {"caffeSemantics", kInt, "1"}};
constexpr Field kDetection[] = {{"shareLocation", kInt, "1"},
                                {"varianceEncodedInTarget", kInt, "0"},
                                {"backgroundLabelId", kInt, "0"},
                                {"numClasses", kInt, nullptr},
                                {"topK", kInt, nullptr},
                                {"keepTopK", kInt, nullptr},
                                {"confidenceThreshold", kFloat, "0"},
                                {"nmsThreshold", kFloat, "0.5"},
                                {"inputOrder", kInt, "0,1,2"},
                                {"confSigmoid", kInt, "0"},
                                {"isNormalized", kInt, "1"},
                                {"codeType", kInt, "1"},
                                {"scoreBits", kInt, "16"},
                                {"isBatchAgnostic", kInt, "1"}};
constexpr const char* kBatchedWhat =
    "the best boxes of an image: of each class the topK best are looked at; scoreBits is without effect";
constexpr const char* kDetectionWhat = "boxes decoded from priors, and of these the best, as rows of seven numbers";

}  // namespace

std::span<const Plugin> batched_nms_plugins() {
  static constexpr Plugin kBatchedNmsPlugins[] = {
      {"BatchedNMS_TRT", "1", Interface::kV2, kBatched, 2, 2, 4, expand_batched, kBatchedWhat},
      {"BatchedNMSDynamic_TRT", "1", Interface::kV2, kBatched, 2, 2, 4, expand_batched, kBatchedWhat},
      {"NMS_TRT", "1", Interface::kV2, kDetection, 3, 3, 2, expand_detection_output, kDetectionWhat},
      {"NMSDynamic_TRT", "1", Interface::kV2, kDetection, 3, 3, 2, expand_detection_output, kDetectionWhat},
  };
  return kBatchedNmsPlugins;
}

}  // namespace wootz::stock
