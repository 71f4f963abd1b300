#include "ops/op_testing.h"

namespace wootz {
namespace {

using namespace optest;

TEST(Dft, ConstantAndAlternatingSignals) {
  const HostTensor x = f32({1, 4, 1}, {1, 0, 1, 0});
  expect_tensor(run_op("DFT", {x}), f32({1, 4, 2}, {2, 0, 0, 0, 2, 0, 0, 0}), 1e-6);
  expect_tensor(run_op("DFT", {x}, {{"onesided", int64_t{1}}}), f32({1, 3, 2}, {2, 0, 0, 0, 2, 0}), 1e-6);
  const HostTensor back =
      run_op("DFT", {f32({1, 3, 2}, {2, 0, 0, 0, 2, 0})}, {{"onesided", int64_t{1}}, {"inverse", int64_t{1}}});
  expect_tensor(back, x, 1e-6);
  // Zero padded to five, a length that is not halved: 1 + w + w^2 with w = e^(-2 pi i / 5).
  const double pi = std::acos(-1.0), c = std::cos(2 * pi / 5) + std::cos(4 * pi / 5),
               d = -std::sin(2 * pi / 5) - std::sin(4 * pi / 5);
  const HostTensor y = run_op("DFT", {f32({1, 3, 1}, {1, 1, 1}), i64({}, {5})});
  expect_tensor(y.dims() == Dims{1, 5, 2} ? HostTensor::wrap(DType::kF32, {4}, y.data(), nullptr) : HostTensor(),
                f32({4}, {3, 0, 1 + c, d}), 1e-6);
}

TEST(Stft, FramesTimesTheWindow) {
  // Frames of two, every other element; the window keeps the first element of a frame.
  const HostTensor x = f32({1, 4, 1}, {1, 2, 3, 4});
  expect_tensor(run_op("STFT", {x, i64({}, {2}), f32({2}, {1, 0})}), f32({1, 2, 2, 2}, {1, 0, 1, 0, 3, 0, 3, 0}), 1e-6);
  EXPECT_FALSE(try_op("STFT", {x, i64({}, {0}), f32({2}, {1, 0})}, {}, 1, true).ok());
  EXPECT_FALSE(try_op("STFT", {x, i64({}, {1}), f32({2}, {1, 0}), i64({}, {3})}, {}, 1, true).ok());
}

TEST(MelWeightMatrix, TrianglesBetweenTheEdges) {
  const std::vector<HostTensor> inputs{i64({}, {2}), i64({}, {16}), i64({}, {8192}), f32({}, {0}), f32({}, {4096})};
  const HostTensor y = run_op("MelWeightMatrix", inputs);
  ASSERT_EQ(y.dims().to_string(), (Dims{9, 2}).to_string());
  // Every band rises to 1 once and is nowhere negative.
  for (int64_t band = 0; band < 2; ++band) {
    int peaks = 0;
    for (int64_t row = 0; row < 9; ++row) {
      EXPECT_GE(y.get_f64(row * 2 + band), 0);
      peaks += y.get_f64(row * 2 + band) == 1;
    }
    EXPECT_EQ(peaks, 1);
  }
}

}  // namespace
}  // namespace wootz
