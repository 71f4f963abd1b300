#include "stock/nms.h"

#include <cmath>
#include <limits>

namespace wootz::stock {
namespace {

Value* small_constant(GraphBuilder& b, DType type, double value) {
  return b.reshape(b.scalar(type, value), std::vector<int64_t>{1});
}

// The scores [G, B] of what is kept, and kNoScore elsewhere. G: images times classes.
Value* kept_scores(GraphBuilder& b, Value* boxes, Value* scores, const NmsLimits& limits) {
  Value* const as_class = b.unsqueeze(scores, {1});
  Value* const selected = b.op("NonMaxSuppression",
                               {boxes, as_class, b.ints({limits.per_class}), small_constant(b, DType::kF32, limits.iou),
                                small_constant(b, DType::kF32, limits.score)},
                               {{"center_point_box", int64_t{0}}});
  Value* const nothing = b.op("Expand", {b.scalar(DType::kF32, kNoScore), b.shape_of(as_class)});
  Value* const values = b.op("GatherND", {as_class, selected}, {{"batch_dims", int64_t{0}}});
  return b.squeeze(b.op("ScatterND", {nothing, selected, values}, {{"reduction", std::string("none")}}), {1});
}

}  // namespace

double below(double threshold) {
  return static_cast<double>(std::nextafter(static_cast<float>(threshold), -std::numeric_limits<float>::infinity()));
}

Value* without_class(GraphBuilder& b, Value* scores, int64_t which) {
  if (b.failed() || which < 0) return scores;
  const Dim& classes = scores->shape()[1];
  if (!classes.is_const()) {
    b.refuse(
        invalid_argument("a background class needs a number of classes that is known when it is built; scores are {}",
                         shape_to_string(scores->shape())));
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
  Value* const cover = all.reach != nullptr ? all.reach : all.boxes;
  const bool own_boxes = !(all.boxes->shape()[1] == Dim(1)) || classes == Dim(1);
  Value* const per_class =
      own_boxes ? cover
                : expand_to(b, cover, {b.extent(cover, 0), b.extent(all.scores, 1), b.extent(cover, 2), b.ints({4})});
  // Classes do not know of each other: each is an image of its own.
  Value* const each = b.extent(all.scores, 2);
  Value* const flat_boxes = b.op("Reshape", {per_class, b.concat({b.ints({-1}), each, b.ints({4})}, 0)});
  Value* const flat_scores = b.op("Reshape", {all.scores, b.concat({b.ints({-1}), each}, 0)});
  Value* left = kept_scores(b, flat_boxes, flat_scores, limits);
  left = b.op("Reshape", {left, b.concat({b.extent(all.scores, 0), b.ints({-1})}, 0)});
  const bool known = classes.is_const() && boxes.is_const();
  const int64_t missing = known ? std::max<int64_t>(0, limits.most - classes.value() * boxes.value()) : limits.most;
  const auto [scores, places] = largest(b, pad_end(b, left, 1, missing, kNoScore), limits.most);
  Kept kept;
  kept.scores = scores;
  kept.valid = b.op("Greater", {scores, b.scalar(DType::kF32, kNoScore / 2)});
  Value* const index = where(b, kept.valid, places, b.scalar(DType::kI64, 0));
  Value* const length = b.as_scalar(each);
  kept.classes = b.div(index, length);
  kept.index = b.sub(index, b.mul(kept.classes, length));
  if (b.failed()) return kept;
  Value* const pool = b.op("Reshape", {all.boxes, b.concat({b.extent(all.boxes, 0), b.ints({-1}), b.ints({4})}, 0)});
  kept.boxes = rows_of(b, pool, own_boxes ? index : kept.index);
  kept.count = b.cast(b.reduce("sum", b.cast(kept.valid, DType::kF32), {1}, true), DType::kI32);
  return kept;
}

}  // namespace wootz::stock
