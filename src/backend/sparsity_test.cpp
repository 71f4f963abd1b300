#include "backend/sparsity.h"

#include <gtest/gtest.h>

#include "backend/chain_sum.h"
#include "backend/siblings.h"
#include "base/testing.h"
#include "base/two_of_four.h"

namespace wootz {
namespace {

TensorDesc desc(const Dims& dims, bool constant) { return {DType::kF16, Layout::kLinear, dims, dims, constant}; }

Problem conv(int64_t channels, int64_t outputs, bool sparse) {
  Problem p;
  p.params = ConvParams{.strides = {1, 1}, .dilations = {1, 1}, .pads = {0, 0, 0, 0}, .sparse = sparse};
  p.inputs = {desc({2, channels, 5, 7}, false), desc({outputs, channels, 1, 1}, true)};
  p.num_main = 2;
  p.outputs = {desc({2, outputs, 5, 7}, false)};
  p.acc_dtype = DType::kF16;
  return p;
}

Problem product(bool transposed, bool sparse) {
  Problem p;
  p.params = GemmParams{.trans_b = transposed, .sparse = sparse};
  p.inputs = {desc({6, 32}, false), desc(transposed ? Dims{48, 32} : Dims{32, 48}, true)};
  p.num_main = 2;
  p.outputs = {desc({6, 48}, false)};
  p.acc_dtype = DType::kF16;
  return p;
}

std::string text(const std::vector<SummedWeights>& weights) {
  std::string s;
  for (const SummedWeights& w : weights) s += fmt::format("{}:{}{} ", w.input, w.axis, w.sparse ? "s" : "");
  return s;
}

TEST(Sparsity, WeightsAreFoundInEveryFamily) {
  EXPECT_EQ(text(summed_weights(product(false, false))), "1:0 ");
  EXPECT_EQ(text(summed_weights(product(true, true))), "1:1s ");
  EXPECT_EQ(text(summed_weights(conv(8, 16, true))), "1:1s ");
  EXPECT_EQ(text(summed_weights(make_chain(conv(8, 16, true), conv(16, 8, false)))), "1:1s 2:1 ");
  EXPECT_TRUE(has_sparse_weights(make_chain(conv(8, 16, false), conv(16, 8, true))));
  EXPECT_FALSE(has_sparse_weights(make_chain(conv(8, 16, false), conv(16, 8, false))));
  Problem quantized = product(false, true);
  quantized.as<GemmParams>().x_scale = {0.5};
  EXPECT_EQ(text(summed_weights(quantized)), "");
  Problem computed = product(false, true);
  computed.inputs[1].constant = false;
  EXPECT_EQ(text(summed_weights(computed)), "");
}

TEST(Sparsity, SiblingsAreSparseWhereAllAre) {
  for (const bool other : {false, true}) {
    const std::optional<Problem> all = make_siblings(std::vector<Problem>{conv(8, 16, true), conv(8, 24, other)});
    ASSERT_TRUE(all.has_value());
    EXPECT_EQ(text(summed_weights(*all)), other ? "1:1s " : "1:1 ");
    EXPECT_EQ(has_sparse_weights(*all), other);
  }
}

TEST(Sparsity, TextsOfDenseProblemsSayNothing) {
  EXPECT_EQ(product(false, false).key().find("sparse"), std::string::npos);
  EXPECT_NE(product(false, true).key().find("sparse"), std::string::npos);
  EXPECT_STREQ(sparsity_text(product(false, false), {"generated", "gemm_generated_sparse_f16", ""}), "");
  EXPECT_STREQ(sparsity_text(product(false, true), {"generated", "gemm_generated_sparse_f16", ""}),
               "2:4 weights, zeros left out");
  EXPECT_STREQ(
      sparsity_text(product(false, true), {"apart", "chain_apart", "cudnn:conv|generated:conv_generated_sparse_f16"}),
      "2:4 weights, zeros left out");
  EXPECT_STREQ(sparsity_text(product(false, true), {"cublaslt", "gemm", ""}), "2:4 weights, computed as dense ones");
}

TEST(Sparsity, IsWorthItForWeightsOfSomeSize) {
  const auto made = [](const Dims& dims, int axis, double value) {
    HostTensor t = HostTensor::allocate(DType::kBF16, dims).value();
    for (int64_t i = 0; i < t.volume(); ++i) t.set_f64(i, value);
    zero_two_of_four(&t, axis, test_seed());
    return t;
  };
  EXPECT_TRUE(worth_sparse(made({32, 48}, 0, 1), 0));
  EXPECT_FALSE(worth_sparse(made({32, 48}, 0, 1), 1));
  EXPECT_FALSE(worth_sparse(made({32, 48}, 0, 0), 0));
  EXPECT_FALSE(worth_sparse(made({8, 8}, 0, 1), 0));
  EXPECT_FALSE(worth_sparse(made({66, 48}, 0, 1), 0));
}

}  // namespace
}  // namespace wootz
