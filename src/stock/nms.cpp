#include "stock/nms.h"

#include <cmath>
#include <limits>

namespace wootz::stock {
namespace {

Value* small_constant(GraphBuilder& b, DType type, double value) {
  return b.reshape(b.scalar(type, value), std::vector<int64_t>{1});
}

// The scores [G, C, B] of what is kept of boxes [G, B, 4], and kNoScore elsewhere.
Value* kept_scores(GraphBuilder& b, Value* boxes, Value* scores, const NmsLimits& limits) {
  Value* const selected = b.op("NonMaxSuppression",
                               {boxes, scores, b.ints({limits.per_class}), small_constant(b, DType::kF32, limits.iou),
                                small_constant(b, DType::kF32, limits.score)},
                               {{"center_point_box", int64_t{0}}});
  // Made of the scores, so that no plan holds it: what is above infinity is nowhere.
  Value* const above = b.op("Greater", {scores, b.scalar(DType::kF32, std::numeric_limits<double>::infinity())});
  Value* const nothing = where(b, above, scores, b.scalar(DType::kF32, kNoScore));
  Value* const values = b.op("GatherND", {scores, selected}, {{"batch_dims", int64_t{0}}});
  return b.op("ScatterND", {nothing, selected, values}, {{"reduction", std::string("none")}});
}

// The same for all of an image, as [N, C * B].
Value* kept_of_images(GraphBuilder& b, const Candidates& all, bool own_boxes, const NmsLimits& limits) {
  Value *boxes = all.reach != nullptr ? all.reach : all.boxes, *scores = all.scores, *left = nullptr;
  if (own_boxes) {
    // Classes do not know of each other: each is an image of its own.
    Value* const each = b.extent(scores, 2);
    boxes = b.op("Reshape", {boxes, b.concat({b.ints({-1}), each, b.ints({4})}, 0)});
    Value* const flat = b.op("Reshape", {scores, b.concat({b.ints({-1, 1}), each}, 0)});
    left = kept_scores(b, boxes, flat, limits);
  } else {
    left = kept_scores(b, b.squeeze(boxes, {1}), scores, limits);
  }
  return b.op("Reshape", {left, b.concat({b.extent(scores, 0), b.ints({-1})}, 0)});
}

}  // namespace

double below(double threshold) {
  return static_cast<double>(std::nextafter(static_cast<float>(threshold), -std::numeric_limits<float>::infinity()));
}

Value* without_class(GraphBuilder& b, Value* scores, int64_t which) {
  if (b.failed() || which < 0) return scores;
  const Dim& classes = scores->shape()[1];
  constexpr int64_t kMostClasses = 1 << 20;
  if (!classes.is_const() || classes.value() > kMostClasses) {
    b.refuse(invalid_argument(
        "a background class needs a number of classes that is known when it is built, and at most {}; scores are {}",
        kMostClasses, shape_to_string(scores->shape())));
    return nullptr;
  }
  std::vector<double> mask(static_cast<size_t>(classes.value()), 0);
  if (which < classes.value()) mask[static_cast<size_t>(which)] = kNoScore;
  return b.add(scores, floats(b, mask, Dims{1, classes.value(), 1}));
}

Value* masked(GraphBuilder& b, const Kept& kept, Value* x, double fallback) {
  if (b.failed()) return nullptr;
  Value* const valid = x->rank() == 3 ? b.unsqueeze(kept.valid, {2}) : kept.valid;
  return where(b, valid, x, b.scalar(x->dtype(), fallback));
}

Kept keep_best(GraphBuilder& b, const Candidates& all, const NmsLimits& limits) {
  if (b.failed()) return {};
  const Dim &classes = all.scores->shape()[1], &boxes = all.scores->shape()[2];
  const bool own_boxes = !(all.boxes->shape()[1] == Dim(1));
  Value* const left = kept_of_images(b, all, own_boxes, limits);
  const bool known = classes.is_const() && boxes.is_const();
  const int64_t missing = known ? std::max<int64_t>(0, limits.most - classes.value() * boxes.value()) : limits.most;
  const auto [scores, places] = largest(b, pad_end(b, left, 1, missing, kNoScore), limits.most);
  Kept kept;
  kept.scores = scores;
  kept.valid = b.op("Greater", {scores, b.scalar(DType::kF32, kNoScore / 2)});
  Value* const index = where(b, kept.valid, places, b.scalar(DType::kI64, 0));
  Value* const length = b.as_scalar(b.extent(all.scores, 2));
  kept.classes = b.div(index, length);
  kept.index = b.sub(index, b.mul(kept.classes, length));
  if (b.failed()) return kept;
  Value* const pool = b.op("Reshape", {all.boxes, b.concat({b.extent(all.boxes, 0), b.ints({-1}), b.ints({4})}, 0)});
  kept.boxes = rows_of(b, pool, own_boxes ? index : kept.index);
  kept.count = b.cast(b.reduce("sum", b.cast(kept.valid, DType::kF32), {1}, true), DType::kI32);
  return kept;
}

}  // namespace wootz::stock
