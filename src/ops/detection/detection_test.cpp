#include "ops/op_testing.h"

namespace wootz {
namespace {

using namespace optest;

TEST(NonMaxSuppression, KeepsTheBestOfOverlappingBoxes) {
  const HostTensor boxes = f32({1, 3, 4}, {0, 0, 2, 2, 0, 0.2, 2, 2.2, 5, 5, 6, 6}),
                   scores = f32({1, 1, 3}, {0.6, 0.9, 0.5});
  const auto run = [&](double most, double iou, double score) {
    return run_op("NonMaxSuppression", {boxes, scores, i64({}, {most}), f32({}, {iou}), f32({}, {score})});
  };
  expect_tensor(run(10, 0.5, 0), i64({2, 3}, {0, 0, 1, 0, 0, 2}));
  expect_tensor(run(10, 0.9, 0), i64({3, 3}, {0, 0, 1, 0, 0, 0, 0, 0, 2}));
  expect_tensor(run(1, 0.5, 0), i64({1, 3}, {0, 0, 1}));
  expect_tensor(run(10, 0.5, 0.55), i64({1, 3}, {0, 0, 1}));
  expect_tensor(run(0, 0.5, 0), i64({0, 3}, {}));
}

TEST(RoiAlign, AveragesAnExactRegion) {
  const HostTensor x = iota(DType::kF32, {1, 1, 4, 4}), roi = f32({1, 4}, {0.5, 0.5, 2.5, 2.5});
  const AttrMap attrs{{"half_pixel", int64_t{1}},
                      {"sampling_ratio", int64_t{1}},
                      {"output_height", int64_t{2}},
                      {"output_width", int64_t{2}}};
  expect_tensor(run_op("RoiAlign", {x, roi, i64({1}, {0})}, attrs), f32({1, 1, 2, 2}, {2.5, 3.5, 6.5, 7.5}), 1e-6);
  EXPECT_FALSE(try_op("RoiAlign", {x, roi, i64({1}, {1})}, attrs).ok());
  EXPECT_FALSE(try_op("RoiAlign", {x, f32({1, 4}, {0, 0, 1e30, 1}), i64({1}, {0})}).ok());
}

TEST(MaxRoiPool, RoundsTheRegion) {
  const HostTensor x = iota(DType::kF32, {1, 1, 4, 4});
  expect_tensor(run_op("MaxRoiPool", {x, f32({1, 5}, {0, 0, 0, 2.6, 1.4})},
                       {{"output_height", int64_t{2}}, {"output_width", int64_t{2}}}),
                f32({1, 1, 2, 2}, {1, 3, 5, 7}));
  EXPECT_FALSE(try_op("MaxRoiPool", {x, f32({1, 5}, {1, 0, 0, 2, 1})}).ok());
}

}  // namespace
}  // namespace wootz
