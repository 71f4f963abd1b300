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

}  // namespace
}  // namespace wootz::cuda
