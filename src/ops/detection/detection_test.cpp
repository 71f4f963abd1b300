#include "ops/op_testing.h"

namespace wootz {
namespace {

using namespace optest;

TEST(NonMaxSuppression, KeepsTheBestOfOverlappingBoxes) {
  const HostTensor boxes = f32({1, 3, 4}, {0, 0, 2, 2, 0, 0.2, 2, 2.2, 5, 5, 6, 6}), scores = f32({1, 1, 3}, {0.6, 0.9, 0.5});
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
  const AttrMap attrs{{"half_pixel", int64_t{1}}, {"sampling_ratio", int64_t{1}}, {"output_height", int64_t{2}}, {"output_width", int64_t{2}}};
  expect_tensor(run_op("RoiAlign", {x, roi, i64({1}, {0})}, attrs), f32({1, 1, 2, 2}, {2.5, 3.5, 6.5, 7.5}), 1e-6);
  EXPECT_FALSE(try_op("RoiAlign", {x, roi, i64({1}, {1})}, attrs).ok());
  EXPECT_FALSE(try_op("RoiAlign", {x, f32({1, 4}, {0, 0, 1e30, 1}), i64({1}, {0})}).ok());
}

TEST(MaxRoiPool, RoundsTheRegion) {
  const HostTensor x = iota(DType::kF32, {1, 1, 4, 4});
  expect_tensor(run_op("MaxRoiPool", {x, f32({1, 5}, {0, 0, 0, 2.6, 1.4})}, {{"output_height", int64_t{2}}, {"output_width", int64_t{2}}}),
                f32({1, 1, 2, 2}, {1, 3, 5, 7}));
  EXPECT_FALSE(try_op("MaxRoiPool", {x, f32({1, 5}, {1, 0, 0, 2, 1})}).ok());
}

TEST(Lrn, DividesByTheSquaresAround) {
  const HostTensor x = f32({1, 3, 1}, {1, 2, 3});
  // size 3, alpha 3: sums of squares 5, 14, 13.
  expect_tensor(run_op("LRN", {x}, {{"size", int64_t{3}}, {"alpha", 3.0}, {"beta", 1.0}, {"bias", 1.0}}), f32({1, 3, 1}, {1 / 6.0, 2 / 15.0, 3 / 14.0}), 1e-6);
}

TEST(NllLoss, WeightsAndIgnoredTargets) {
  const HostTensor x = f32({2, 2}, {-1, -2, -3, -4}), weights = f32({2}, {1, 3});
  expect_tensor(run_op("NllLoss", {x, i64({2}, {1, 0}), weights}), f32({}, {(6 + 3) / 4.0}), 1e-6);
  expect_tensor(run_op("NllLoss", {x, i64({2}, {1, -7})}, {{"ignore_index", int64_t{-7}}, {"reduction", std::string("none")}}), f32({2}, {2, 0}));
  EXPECT_FALSE(try_op("NllLoss", {x, i64({2}, {1, 2})}).ok());
}

TEST(Dft, ConstantAndAlternatingSignals) {
  const HostTensor x = f32({1, 4, 1}, {1, 0, 1, 0});
  expect_tensor(run_op("DFT", {x}), f32({1, 4, 2}, {2, 0, 0, 0, 2, 0, 0, 0}), 1e-6);
  expect_tensor(run_op("DFT", {x}, {{"onesided", int64_t{1}}}), f32({1, 3, 2}, {2, 0, 0, 0, 2, 0}), 1e-6);
  const HostTensor back = run_op("DFT", {f32({1, 3, 2}, {2, 0, 0, 0, 2, 0})}, {{"onesided", int64_t{1}}, {"inverse", int64_t{1}}});
  expect_tensor(back, x, 1e-6);
  // Zero padded to five, a length that is not halved: 1 + w + w^2 with w = e^(-2 pi i / 5).
  const double pi = std::acos(-1.0), c = std::cos(2 * pi / 5) + std::cos(4 * pi / 5), d = -std::sin(2 * pi / 5) - std::sin(4 * pi / 5);
  const HostTensor y = run_op("DFT", {f32({1, 3, 1}, {1, 1, 1}), i64({}, {5})});
  expect_tensor(y.dims() == Dims{1, 5, 2} ? HostTensor::wrap(DType::kF32, {4}, y.data(), nullptr) : HostTensor(), f32({4}, {3, 0, 1 + c, d}), 1e-6);
}

}  // namespace
}  // namespace wootz
