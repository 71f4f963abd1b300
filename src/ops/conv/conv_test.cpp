#include "ops/op_testing.h"

namespace wootz {
namespace {

using namespace optest;

TEST(Conv, SumsWindowsAndAddsTheBias) {
  const HostTensor x = iota(DType::kF32, {1, 1, 3, 3}), w = f32({1, 1, 2, 2}, {1, 0, 0, 1});
  expect_tensor(run_op("Conv", {x, w, f32({1}, {10})}), f32({1, 1, 2, 2}, {14, 16, 20, 22}));
  // Padding reads zeros; strides skip.
  expect_tensor(run_op("Conv", {x, w}, {{"pads", Ints{1, 1, 0, 0}}, {"strides", Ints{2, 2}}}),
                f32({1, 1, 2, 2}, {0, 2, 6, 12}));
}

TEST(Conv, DilationGroupsAndOneAxis) {
  const HostTensor x = f32({1, 2, 4}, {1, 2, 3, 4, 10, 20, 30, 40});
  expect_tensor(run_op("Conv", {x, f32({2, 1, 2}, {1, 1, 1, -1})}, {{"groups", int64_t{2}}, {"dilations", Ints{2}}}),
                f32({1, 2, 2}, {4, 6, -20, -20}));
}

TEST(Conv, SameLowerPutsTheOddElementFirst) {
  const HostTensor x = f32({1, 1, 3}, {1, 2, 3}), w = f32({1, 1, 2}, {1, 10});
  expect_tensor(run_op("Conv", {x, w}, {{"auto_pad", std::string("SAME_LOWER")}}), f32({1, 1, 3}, {10, 21, 32}));
  expect_tensor(run_op("Conv", {x, w}, {{"auto_pad", std::string("SAME_UPPER")}}), f32({1, 1, 3}, {21, 32, 3}));
}

TEST(Conv, QuantizedFormSubtractsZeroPointsAndScales) {
  const HostTensor x = make(DType::kU8, {1, 1, 1, 3}, {130, 128, 127}),
                   w = make(DType::kI8, {2, 1, 1, 2}, {2, -3, 1, 1});
  const AttrMap attrs{{"x_scale", std::vector<double>{0.5}},
                      {"x_zero", std::vector<double>{128}},
                      {"w_scale", std::vector<double>{1, 2}}};
  // Channel 0: 0.5 * (2*2 - 3*0), 0.5 * (2*0 - 3*-1); channel 1: 0.5 * 2 * (2 + 0), 0.5 * 2 * (0 - 1).
  expect_tensor(run_op("Conv", {x, w, f32({2}, {1, 0})}, attrs), f32({1, 2, 1, 2}, {3, 2.5, 2, -1}));
  AttrMap wrong = attrs;
  wrong["w_scale"] = std::vector<double>{1, 2, 3};
  EXPECT_FALSE(try_op("Conv", {x, w}, wrong).ok());
}

TEST(Conv, SymbolicExtents) {
  SymbolicGraph g;
  const Dim n = g.symbol("n"), h = g.symbol("h");
  Value* x = g.input(DType::kF32, {n, Dim(3), h, Dim(9)});
  Value* w = g.input(DType::kF32, {Dim(4), Dim(3), Dim(3), Dim(3)});
  const Value* y = g.add("Conv", {x, w}, {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}});
  EXPECT_EQ(y->shape()[0], n);
  EXPECT_EQ(y->shape()[2], floor_div(h - Dim(1), Dim(2)) + Dim(1));
  EXPECT_EQ(y->shape()[3], Dim(5));
}

TEST(Conv, Refusals) {
  const HostTensor x = iota(DType::kF32, {1, 2, 3, 3});
  EXPECT_FALSE(try_op("Conv", {x, iota(DType::kF32, {1, 3, 2, 2})}).ok());  // channels
  EXPECT_FALSE(try_op("Conv", {x, iota(DType::kF32, {1, 2, 4, 4})}).ok());  // kernel larger than the input
  EXPECT_FALSE(try_op("Conv", {x, iota(DType::kF32, {1, 2, 2, 2})}, {{"strides", Ints{0, 1}}}).ok());
  EXPECT_FALSE(try_op("Conv", {x, iota(DType::kF32, {1, 2, 2, 2})}, {{"pads", Ints{1, 1}}}).ok());
  EXPECT_FALSE(try_op("Conv", {x, iota(DType::kF16, {1, 2, 2, 2})}).ok());
  EXPECT_FALSE(try_op("Conv", {x, iota(DType::kF32, {3, 1, 2, 2})}, {{"groups", int64_t{2}}}).ok());
}

TEST(ConvTranspose, SpreadsEachElement) {
  const HostTensor x = f32({1, 1, 2}, {1, 2}), w = f32({1, 1, 3}, {1, 10, 100});
  expect_tensor(run_op("ConvTranspose", {x, w}), f32({1, 1, 4}, {1, 12, 120, 200}));
  expect_tensor(run_op("ConvTranspose", {x, w}, {{"strides", Ints{2}}, {"output_padding", Ints{1}}}),
                f32({1, 1, 6}, {1, 10, 102, 20, 200, 0}));
  expect_tensor(run_op("ConvTranspose", {x, w, f32({1}, {5})}, {{"strides", Ints{2}}, {"pads", Ints{1, 1}}}),
                f32({1, 1, 3}, {15, 107, 25}));
}

TEST(ConvTranspose, Groups) {
  const HostTensor x = f32({1, 2, 1}, {2, 3}), w = f32({2, 2, 1}, {1, 10, 100, 1000});
  expect_tensor(run_op("ConvTranspose", {x, w}, {{"groups", int64_t{2}}}), f32({1, 4, 1}, {2, 20, 300, 3000}));
}

TEST(ConvInteger, ZeroPoints) {
  const HostTensor x = make(DType::kU8, {1, 1, 1, 2}, {3, 255}), w = make(DType::kU8, {2, 1, 1, 1}, {5, 7});
  expect_tensor(run_op("ConvInteger", {x, w, make(DType::kU8, {}, {4}), make(DType::kU8, {2}, {0, 8})}),
                i32({1, 2, 1, 2}, {-5, 1255, 1, -251}));
}

}  // namespace
}  // namespace wootz
