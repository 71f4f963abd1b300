// Non-maximum suppression with outputs of fixed size, as detection plugins have it.
#pragma once

#include "stock/layer.h"

namespace wootz::stock {

// What stands for no score. Sums with scores are finite.
inline constexpr double kNoScore = -1e38;

struct Candidates {
  Value* boxes = nullptr;   // f32 [N, C or 1, B, 4]: corners
  Value* scores = nullptr;  // f32 [N, C, B]
  Value* reach = nullptr;   // what they cover when they overlap, if that is not what they are
};

struct NmsLimits {
  double iou = 0, score = 0;  // what is above `iou` is dropped; what is not above `score` is not looked at
  int64_t per_class = 0;
  int64_t most = 0;  // of an image
};

// The best of an image, in the order of their scores: all are [N, most].
struct Kept {
  Value* scores = nullptr;   // f32; kNoScore where there are fewer
  Value* valid = nullptr;    // bool
  Value* classes = nullptr;  // i64; 0 where there are fewer
  Value* index = nullptr;    // i64: which of the class's B boxes
  Value* boxes = nullptr;    // f32 [N, most, 4]
  Value* count = nullptr;    // i32 [N, 1]
};

Kept keep_best(GraphBuilder& b, const Candidates& all, const NmsLimits& limits);

// Takes a class out of scores [N, C, B]: one of fewer than 0 is none. Errors: the number of classes is not known.
Value* without_class(GraphBuilder& b, Value* scores, int64_t which);
// x where it is valid, else the fallback: x [N, K] or [N, K, M].
Value* masked(GraphBuilder& b, const Kept& kept, Value* x, double fallback);
// The next smaller float, so that "not below" is "above" it.
double below(double threshold);

}  // namespace wootz::stock
