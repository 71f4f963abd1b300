// Means of whole images of 8 bits are reductions by many threads, of as many neighbours as their channels allow.
#include <gtest/gtest.h>

#include "backends/cuda/generate/families.h"

namespace wootz::cuda {
namespace {

Problem mean_of_bytes(Layout layout, const Dims& x, std::vector<int64_t> kernel = {}) {
  Problem p;
  p.params = PoolParams{.kind = PoolKind::kAvg, .kernel = kernel, .x_scale = {0.02}, .x_zero = {3}};
  p.as<PoolParams>().global = kernel.empty();
  Dims y = x;
  for (size_t a = 2; a < x.size(); ++a) y[a] = kernel.empty() ? 1 : x[a] - kernel[a - 2] + 1;
  p.as<PoolParams>().strides = p.as<PoolParams>().dilations = std::vector<int64_t>(kernel.size(), 1);
  p.as<PoolParams>().pads = std::vector<int64_t>(2 * kernel.size(), 0);
  p.inputs = {{DType::kU8, layout, x, x, false}};
  p.outputs = {{DType::kF32, layout, y, y, false}};
  p.num_main = 1;
  return p;
}

std::vector<Launch> launches_of(const Problem& p) {
  const std::vector<Dims> in{p.inputs[0].dims}, out{p.outputs[0].dims};
  std::vector<Launch> launches;
  const Status status = generate_pool(p, {in, out, {}}, &launches);
  EXPECT_TRUE(status.ok()) << status.to_string();
  return launches;
}

bool has(const Launch& launch, std::string_view text) { return launch.source.find(text) != std::string::npos; }

TEST(ByteMeans, AreReductions) {
  for (const Layout layout : {Layout::kLinear, Layout::kChannelsLast})
    for (const int64_t channels : {1, 19, 24, 48}) {
      const std::vector<Launch> launches = launches_of(mean_of_bytes(layout, {1, channels, 12, 12}));
      ASSERT_EQ(launches.size(), 1u);
      EXPECT_TRUE(has(launches[0], "typedef ScaledMeanOf Reduction;")) << layout_name(layout) << " " << channels;
      EXPECT_TRUE(has(launches[0], "typedef int A;"));
    }
  for (const auto& [channels, vector] : {std::pair(144, 16), {24, 8}, {20, 4}}) {
    const std::vector<Launch> launches = launches_of(mean_of_bytes(Layout::kChannelsLast, {1, channels, 12, 12}));
    EXPECT_TRUE(has(launches[0], fmt::format("constexpr int kVector = {};", vector))) << channels;
  }
  // As global, with the window spelled out.
  EXPECT_TRUE(has(launches_of(mean_of_bytes(Layout::kLinear, {2, 8, 5, 7}, {5, 7}))[0], "ScaledMeanOf Reduction;"));
  EXPECT_TRUE(has(launches_of(mean_of_bytes(Layout::kLinear, {2, 8, 5, 7}, {5, 3}))[0], "PoolScaledMean Kind;"));
}

TEST(ByteMeans, BlocksShareTheRowsOfLargeImages) {
  const std::vector<Launch> launches = launches_of(mean_of_bytes(Layout::kChannelsLast, {1, 192, 95, 95}));
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_GE(launches[0].size.grid_x, 100u);
  EXPECT_EQ(launches[0].workspace % (192 * sizeof(int)), 0u);
}

TEST(ByteMeans, SumsOfMorePixelsThanAnIntHolds) {
  const std::vector<Launch> launches = launches_of(mean_of_bytes(Layout::kLinear, {1, 1, 4096, 4096}));
  EXPECT_TRUE(has(launches[0], "typedef s64 A;"));
}

}  // namespace
}  // namespace wootz::cuda
