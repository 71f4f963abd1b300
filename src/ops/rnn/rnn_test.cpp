#include "ops/op_testing.h"

namespace wootz {
namespace {

using namespace optest;

// Two steps, two batch elements, one input, one hidden unit; h' = x + 2 h with the identity as activation.
const HostTensor kX = f32({2, 2, 1}, {1, 2, 3, 4}), kW = f32({1, 1, 1}, {1}), kR = f32({1, 1, 1}, {2});
AttrMap affine(AttrMap more = {}) {
  more["hidden"] = int64_t{1};
  more["activations"] = std::string("Affine");
  return more;
}

TEST(Rnn, DirectionsAndLengths) {
  expect_tensor(run_op("RNN", {kX, kW, kR}, affine()), f32({2, 1, 2, 1}, {1, 2, 5, 8}));
  expect_tensor(run_op("RNN", {kX, kW, kR}, affine({{"direction", std::string("reverse")}})),
                f32({2, 1, 2, 1}, {7, 10, 3, 4}));
  // Steps beyond a sequence's length give zeros and leave the state.
  const HostTensor lengths = i32({2}, {1, 2});
  expect_tensor(run_op("RNN", {kX, kW, kR, {}, lengths}, affine()), f32({2, 1, 2, 1}, {1, 2, 0, 8}));
  expect_tensor(run_op("RNN", {kX, kW, kR, {}, lengths}, affine(), 1), f32({1, 2, 1}, {1, 8}));
  EXPECT_FALSE(try_op("RNN", {kX, kW, kR, {}, i32({2}, {1, 3})}, affine()).ok());
}

TEST(Rnn, BatchFirstInitialStateAndClip) {
  const HostTensor x = f32({2, 2, 1}, {1, 3, 2, 4});
  expect_tensor(run_op("RNN", {x, kW, kR, {}, {}, f32({2, 1, 1}, {1, 0})}, affine({{"layout", int64_t{1}}})),
                f32({2, 2, 1, 1}, {3, 9, 2, 8}));
  expect_tensor(run_op("RNN", {kX, kW, kR}, affine({{"clip", 4.0}})), f32({2, 1, 2, 1}, {1, 2, 4, 4}));
}

TEST(Gru, ResetBeforeAndAfterTheProduct) {
  // Update gate off (large negative bias), reset gate sigmoid(0) = 1/2, candidate affine.
  const HostTensor x = f32({1, 1, 1}, {1}), w = f32({1, 3, 1}, {0, 0, 1}), r = f32({1, 3, 1}, {0, 0, 3});
  const HostTensor b = f32({1, 6}, {-1000, 0, 0, 0, 0, 10}), h = f32({1, 1, 1}, {4});
  AttrMap attrs{{"hidden", int64_t{1}}, {"activations", std::string("Sigmoid,Affine")}};
  expect_tensor(run_op("GRU", {x, w, r, b, {}, h}, attrs), f32({1, 1, 1, 1}, {1 + 6 + 10}), 1e-6);
  attrs["linear_before_reset"] = int64_t{1};
  expect_tensor(run_op("GRU", {x, w, r, b, {}, h}, attrs), f32({1, 1, 1, 1}, {1 + 0.5 * (12 + 10)}), 1e-6);
}

TEST(Lstm, GatesInTheOrderInputOutputForgetCell) {
  // All affine: input 2, output 3, forget 5, cell 7 from biases; c0 = 11.
  const HostTensor x = f32({1, 1, 1}, {0}), w = f32({1, 4, 1}, {0, 0, 0, 0}), b = f32({1, 8}, {2, 3, 5, 7, 0, 0, 0, 0});
  const HostTensor h = f32({1, 1, 1}, {0}), c = f32({1, 1, 1}, {11});
  const AttrMap attrs{{"hidden", int64_t{1}}, {"activations", std::string("Affine,Affine,Affine")}};
  const double cell = 5 * 11 + 2 * 7;
  expect_tensor(run_op("LSTM", {x, w, w, b, {}, h, c}, attrs, 2), f32({1, 1, 1}, {cell}));
  expect_tensor(run_op("LSTM", {x, w, w, b, {}, h, c}, attrs), f32({1, 1, 1, 1}, {3 * cell}));
  // Peepholes: input and forget see the old cell, output the new one.
  const double with = (5 + 11) * 11 + (2 + 11) * 7;
  expect_tensor(run_op("LSTM", {x, w, w, b, {}, h, c, f32({1, 3}, {1, 1, 1})}, attrs, 1),
                f32({1, 1, 1}, {(3 + with) * with}));
}

TEST(Rnn, Refusals) {
  EXPECT_FALSE(try_op("RNN", {kX, kW, kR}, {{"hidden", int64_t{2}}}).ok());
  EXPECT_FALSE(try_op("RNN", {kX, kW, kR}, affine({{"direction", std::string("sideways")}})).ok());
  EXPECT_FALSE(try_op("RNN", {kX, kW, kR}, {{"hidden", int64_t{1}}, {"activations", std::string("Cubic")}}).ok());
  EXPECT_FALSE(try_op("RNN", {kX, kW, kR}, {{"hidden", int64_t{1}}, {"activations", std::string("Tanh,Tanh")}}).ok());
}

}  // namespace
}  // namespace wootz
