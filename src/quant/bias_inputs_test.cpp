// Means by channel, and inputs that are added to values.
#include "quant/bias_inputs.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "ops/infer.h"
#include "ops/interpreter.h"
#include "ops/registry.h"

namespace wootz {
namespace {

HostTensor floats(const Dims& dims, const std::vector<float>& values) {
  HostTensor tensor = *HostTensor::allocate(DType::kF32, dims);
  std::copy(values.begin(), values.end(), tensor.as_mutable<float>().begin());
  return tensor;
}

TEST(ChannelMeans, AreOverBatchesAndAllOtherAxes) {
  ChannelMeans means;
  ASSERT_TRUE(means.add(floats(Dims{1, 2, 2}, {1, 3, 10, 20}), 1).ok());
  ASSERT_TRUE(means.add(floats(Dims{2, 2, 2}, {1, 1, 0, 0, 6, 6, 0, 0}), 1).ok());
  EXPECT_EQ(means.means(), (std::vector<float>{3, 5}));
  EXPECT_FALSE(means.add(floats(Dims{1, 3}, {1, 2, 3}), 1).ok());
  EXPECT_FALSE(means.add(floats(Dims{2}, {1, 2}), 1).ok());
}

TEST(BiasInputs, AreAddedInFrontOfEveryReader) {
  auto parsed = parse_graph(R"(graph "g" {
    %x: f32[1,1,1,2] = input;
    %w: f32[2,1,1,1] = const [1, 2];
    %c = Conv(%x, %w);
    %r = Relu(%c);
    %y = Add(%r, %c);
    return %y;
  })",
                            find_op);
  ASSERT_TRUE(parsed.ok()) << parsed.status().to_string();
  Graph& graph = **parsed;
  ASSERT_TRUE(infer_graph(graph).ok());
  const BiasInput layer{"c", "Conv", 2};
  ASSERT_TRUE(add_bias_inputs(graph, std::vector{layer}).ok());
  EXPECT_FALSE(add_bias_inputs(graph, std::vector{BiasInput{"nobody", "Conv", 2}}).ok());
  const HostTensor bias = *bias_array(layer, 4, std::vector<float>{0.5F, -9});
  EXPECT_EQ(bias.dims(), (Dims{1, 2, 1, 1}));
  const auto results = run_graph(graph, {floats(Dims{1, 1, 1, 2}, {1, 2}), bias});
  ASSERT_TRUE(results.ok()) << results.status().to_string();
  const std::span<const float> y = (*results)[0].as<float>();
  EXPECT_EQ(std::vector<float>(y.begin(), y.end()), (std::vector<float>{3, 5, -7, -5}));
}

}  // namespace
}  // namespace wootz
