#include "ops/einsum/equation.h"

#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

HostTensor einsum(const char* equation, const std::vector<HostTensor>& inputs) {
  return run_op("Einsum", inputs, {{"equation", std::string(equation)}});
}

TEST(Einsum, SumsAndProducts) {
  const HostTensor a = f32({2, 3}, {1, 2, 3, 4, 5, 6}), b = f32({3, 2}, {1, 0, 0, 1, 1, 1});
  expect_tensor(einsum("ij,jk->ik", {a, b}), f32({2, 2}, {4, 5, 10, 11}));
  expect_tensor(einsum("ij , jk", {a, b}), f32({2, 2}, {4, 5, 10, 11}));
  expect_tensor(einsum("ij->ji", {a}), f32({3, 2}, {1, 4, 2, 5, 3, 6}));
  expect_tensor(einsum("ij->i", {a}), f32({2}, {6, 15}));
  expect_tensor(einsum("ij->", {a}), f32({}, {21}));
  expect_tensor(einsum("i,j->ij", {f32({2}, {2, 3}), f32({2}, {5, 7})}), f32({2, 2}, {10, 14, 15, 21}));
  expect_tensor(einsum("ij,ij->", {a, a}), f32({}, {91}));
}

TEST(Einsum, DiagonalsAndEllipses) {
  const HostTensor m = i32({2, 2}, {1, 2, 3, 4});
  expect_tensor(einsum("ii", {m}), i32({}, {5}));
  expect_tensor(einsum("ii->i", {m}), i32({2}, {1, 4}));
  expect_tensor(einsum("...i->...", {iota(DType::kF32, {2, 2, 2})}), f32({2, 2}, {1, 5, 9, 13}));
  expect_tensor(einsum("...a,...a", {f32({2, 1, 2}, {1, 2, 3, 4}), f32({3, 2}, {1, 0, 0, 1, 1, 1})}),
                f32({2, 3}, {1, 2, 3, 3, 4, 7}));
  // Upper case letters come before lower case ones in an implied output.
  expect_tensor(einsum("bA", {f32({2, 3}, {1, 2, 3, 4, 5, 6})}), f32({3, 2}, {1, 4, 2, 5, 3, 6}));
}

TEST(Einsum, EmptySums) {
  expect_tensor(einsum("ij,jk->ik", {f32({2, 0}, {}), f32({0, 1}, {})}), f32({2, 1}, {0, 0}));
  expect_tensor(einsum("ij->ij", {f32({0, 2}, {})}), f32({0, 2}, {}));
}

TEST(Einsum, Refusals) {
  const HostTensor a = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  for (const char* bad : {"ijk->i", "ij->ik", "ij->ii", "i.j", "....ij", "ij,jk->ik", "i1->i", "...i...->i", ""})
    EXPECT_FALSE(try_op("Einsum", {a}, {{"equation", std::string(bad)}}).ok()) << bad;
  EXPECT_FALSE(try_op("Einsum", {a, a}, {{"equation", std::string("ij,jk->ik")}}).ok());
  EXPECT_FALSE(try_op("Einsum", {a, i32({1}, {1})}, {{"equation", std::string("ij,k->ik")}}).ok());
}

TEST(Einsum, SymbolicSizes) {
  SymbolicGraph g;
  const Dim n = g.symbol("n"), m = g.symbol("m");
  Value* y = g.add("Einsum", {g.input(DType::kF32, {n, 4, m}), g.input(DType::kF32, {n, m, 8})},
                   {{"equation", std::string("bij,bjk->bki")}});
  EXPECT_EQ(shape_to_string(y->shape()), shape_to_string({n, Dim(8), Dim(4)}));
}

}  // namespace
}  // namespace wootz
