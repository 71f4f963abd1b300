#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

TEST(Reshape, ZeroKeepsAndMinusOneFollows) {
  const HostTensor x = iota(DType::kF32, {2, 3, 4});
  expect_tensor(run_op("Reshape", {x, i64({3}, {0, -1, 2})}), x.reshaped({2, 6, 2}));
  expect_tensor(run_op("Reshape", {x, i64({1}, {-1})}), x.reshaped({24}));
  expect_tensor(run_op("Reshape", {f32({1}, {5}), i64({0}, {})}), f32({}, {5}));
  expect_tensor(run_op("Reshape", {f32({0, 3}, {}), i64({2}, {3, 0})}, {{"allowzero", int64_t{1}}}), f32({3, 0}, {}));
  expect_tensor(run_op("Reshape", {f32({0, 3}, {}), i64({2}, {0, -1})}), f32({0, 0}, {}));
}

TEST(Reshape, Refusals) {
  const HostTensor x = iota(DType::kF32, {2, 3});
  EXPECT_FALSE(try_op("Reshape", {x, i64({2}, {-1, -1})}).ok());
  EXPECT_FALSE(try_op("Reshape", {x, i64({2}, {4, -1})}).ok());
  EXPECT_FALSE(try_op("Reshape", {x, i64({1}, {7})}).ok());
  EXPECT_FALSE(try_op("Reshape", {x, i64({3}, {2, 3, 0})}).ok());
  EXPECT_FALSE(try_op("Reshape", {x, i64({1}, {-2})}).ok());
  EXPECT_FALSE(try_op("Squeeze", {x}, {{"axes", Ints{0}}}).ok());
  EXPECT_FALSE(try_op("Unsqueeze", {x}, {{"axes", Ints{1, 1}}}).ok());
  EXPECT_FALSE(try_op("Flatten", {x}, {{"axis", int64_t{3}}}).ok());
}

TEST(Reshape, FlattenSqueezeUnsqueeze) {
  const HostTensor x = iota(DType::kF32, {2, 3, 4});
  expect_tensor(run_op("Flatten", {x}), x.reshaped({2, 12}));
  expect_tensor(run_op("Flatten", {x}, {{"axis", int64_t{0}}}), x.reshaped({1, 24}));
  expect_tensor(run_op("Flatten", {x}, {{"axis", int64_t{-1}}}), x.reshaped({6, 4}));
  expect_tensor(run_op("Unsqueeze", {x}, {{"axes", Ints{-1, 0}}}), x.reshaped({1, 2, 3, 4, 1}));
  expect_tensor(run_op("Squeeze", {x.reshaped({2, 1, 12, 1})}, {{"axes", Ints{1, -1}}}), x.reshaped({2, 12}));
}

// Shape -> Gather -> Concat -> Reshape, as exporters write a reshape of a dynamic batch.
TEST(Reshape, SymbolicShapeOfExporters) {
  SymbolicGraph g;
  const Dim n = g.symbol("n"), t = g.symbol("t");
  Value* x = g.input(DType::kF32, {n, t, 768});
  Value* shape = g.add("Shape", {x});
  Value* batch = g.add("Unsqueeze", {g.add("Gather", {shape, g.constant(i64({}, {0}))}, {{"axis", int64_t{0}}})},
                       {{"axes", Ints{0}}});
  Value* wanted = g.add("Concat", {batch, g.ints({-1, 12, 64})}, {{"axis", int64_t{0}}});
  Value* y = g.add("Reshape", {x, wanted});
  EXPECT_EQ(shape_to_string(y->shape()), shape_to_string({n, t, Dim(12), Dim(64)}));
}

TEST(Reshape, UnknownValuesGiveDataDependentSizes) {
  SymbolicGraph g;
  const Dim n = g.symbol("n");
  Value* shape = g.add("Cast", {g.input(DType::kF32, {2})}, {{"to", std::string("i64")}});
  Value* y = g.add("Reshape", {g.input(DType::kF32, {n, 6}), shape});
  ASSERT_EQ(y->rank(), 2);
  SymbolId id = 0;
  ASSERT_TRUE(y->shape()[0].is_symbol(&id));
  EXPECT_EQ(g.graph.symbols()[static_cast<size_t>(id)].kind, SymbolKind::kDataDependent);
}

}  // namespace
}  // namespace wootz
