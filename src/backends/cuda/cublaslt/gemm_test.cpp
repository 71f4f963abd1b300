#include "backends/cuda/cublaslt/gemm.h"

#include <gtest/gtest.h>

#include <iterator>

namespace wootz::cuda {
namespace {

// As cuBLASLt 13.1 gave one algorithm to two builds.
TEST(CublasLtAlgorithm, HasOneIdentityWhateverTheLibraryLeavesInIt) {
  constexpr size_t kVersion = 130100;
  cublasLtMatmulAlgo_t first{{0xf00000017, 0xc00000006, 2, 0, 0x1fc344df50001, 0, 0x4d00000000, 0}}, second = first;
  second.data[4] = 0x1fc3400000001;
  clear_leftovers(&first, kVersion);
  for (size_t i = 0; i < std::size(first.data); ++i) EXPECT_EQ(first.data[i], second.data[i]) << i;
}

TEST(CublasLtAlgorithm, IsLeftAloneWhereTheVersionDoesNotStand) {
  cublasLtMatmulAlgo_t algo{{0xf00000017, 0xc00000006, 2, 0, 0x1fc344df50001, 0, 0x4d00000000, 0}};
  const cublasLtMatmulAlgo_t before = algo;
  clear_leftovers(&algo, 130200);
  for (size_t i = 0; i < std::size(algo.data); ++i) EXPECT_EQ(algo.data[i], before.data[i]) << i;
}

// 8 rows of 16 by a matrix of 16 by 32, then a bias and an activation.
Problem activated(DType type, DType result, PwOp op) {
  const auto tensor = [](DType dtype, const Dims& dims) {
    TensorDesc t;
    t.dtype = dtype;
    t.dims = t.max_dims = dims;
    return t;
  };
  Problem p;
  p.set_family(Family::kGemm);
  p.inputs = {tensor(type, {8, 16}), tensor(type, {16, 32}), tensor(result, {32})};
  p.outputs = {tensor(result, {8, 32})};
  p.num_main = 2;
  PointwiseExpr e;
  const uint16_t x = e.input(0, DType::kF32), b = e.input(1, result);
  const uint16_t sum = e.push(PwOp::kAdd, DType::kF32, x, e.push(PwOp::kCast, DType::kF32, b));
  e.outputs = {e.push(PwOp::kCast, result, e.push(op, DType::kF32, sum))};
  p.epilogue = std::move(e);
  return p;
}

// The library's GELU is the one by tanh: that by erf may be it where the product is as coarse.
TEST(CublasLtProduct, TakesGeluByErfWhereRoundingIsAsCoarse) {
  const auto taken = [](DType type, DType result, PwOp op, bool tf32) {
    const Problem p = activated(type, result, op);
    const std::vector<Dims> in{{8, 16}, {16, 32}, {32}};
    const Result<Product> g = describe_product(p, in, p.outputs[0].dims, tf32);
    if (g.ok()) EXPECT_EQ(g->epilogue, CUBLASLT_EPILOGUE_GELU_BIAS);
    return g.ok();
  };
  for (const bool tf32 : {false, true}) {
    EXPECT_TRUE(taken(DType::kF32, DType::kF32, PwOp::kGeluTanh, tf32));
    EXPECT_EQ(taken(DType::kF32, DType::kF32, PwOp::kGeluErf, tf32), tf32);
    EXPECT_TRUE(taken(DType::kF16, DType::kF16, PwOp::kGeluErf, tf32));
    EXPECT_FALSE(taken(DType::kF16, DType::kF32, PwOp::kGeluErf, tf32));
    EXPECT_FALSE(taken(DType::kF32, DType::kF32, PwOp::kTanh, tf32));
  }
}

}  // namespace
}  // namespace wootz::cuda
