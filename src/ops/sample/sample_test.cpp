#include "ops/op_testing.h"

namespace wootz {
namespace {

using namespace optest;

const HostTensor kX = f32({1, 1, 2, 2}, {1, 2, 3, 4});

TEST(GridSample, CornersAndCenter) {
  const HostTensor grid = f32({1, 1, 3, 2}, {-1, -1, 0, 0, 1, -1});
  expect_tensor(run_op("GridSample", {kX, grid}, {{"align_corners", int64_t{1}}}), f32({1, 1, 1, 3}, {1, 2.5, 2}),
                1e-6);
  // Half of each border element's area is outside.
  expect_tensor(run_op("GridSample", {kX, grid}), f32({1, 1, 1, 3}, {0.25, 2.5, 0.5}), 1e-6);
  expect_tensor(run_op("GridSample", {kX, grid}, {{"padding_mode", std::string("border")}}),
                f32({1, 1, 1, 3}, {1, 2.5, 2}), 1e-6);
}

TEST(GridSample, NotANumberReadsNothing) {
  expect_tensor(run_op("GridSample", {kX, f32({1, 1, 1, 2}, {NAN, INFINITY})}), f32({1, 1, 1, 1}, {0}));
}

TEST(AffineGrid, Identity) {
  const HostTensor theta = f32({1, 2, 3}, {1, 0, 0, 0, 1, 0});
  expect_tensor(run_op("AffineGrid", {theta, i64({4}, {1, 1, 2, 2})}),
                f32({1, 2, 2, 2}, {-0.5, -0.5, 0.5, -0.5, -0.5, 0.5, 0.5, 0.5}));
  expect_tensor(run_op("AffineGrid", {theta, i64({4}, {1, 1, 1, 2})}, {{"align_corners", int64_t{1}}}),
                f32({1, 1, 2, 2}, {-1, -1, 1, -1}));
}

TEST(DeformConv, WithoutOffsetsIsAConvolution) {
  const HostTensor x = iota(DType::kF32, {1, 2, 4, 4}), w = iota(DType::kF32, {3, 2, 2, 2});
  HostTensor offsets = iota(DType::kF32, {1, 8, 3, 3});
  for (int64_t i = 0; i < offsets.volume(); ++i) offsets.set_f64(i, 0);
  expect_tensor(run_op("DeformConv", {x, w, offsets}), run_op("Conv", {x, w}));
  for (int64_t i = 0; i < offsets.volume(); ++i)
    offsets.set_f64(i, i / 9 % 2 == 1 ? 0.5 : 0);  // half an element to the right
  const HostTensor one = f32({1, 2, 1, 1}, {1, 0});
  expect_tensor(
      run_op("DeformConv", {f32({1, 2, 1, 3}, {2, 4, 8, 0, 0, 0}), one, f32({1, 2, 1, 3}, {0, 0, 0, 0.5, 0.5, 0.5})}),
      f32({1, 1, 1, 3}, {3, 6, 4}));
}

}  // namespace
}  // namespace wootz
