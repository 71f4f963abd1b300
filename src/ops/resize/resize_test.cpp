#include <tuple>

#include "ops/op_testing.h"
#include "ops/resize/resize_axis.h"

namespace wootz {
namespace {

using namespace optest;
using Floats = std::vector<double>;

AttrMap resize(const char* mode, const char* coordinate, Floats scales) {
  AttrMap attrs{{"mode", std::string(mode)}, {"coordinate_transformation_mode", std::string(coordinate)}};
  if (!scales.empty()) attrs["scales"] = std::move(scales);
  return attrs;
}

const HostTensor kX = f32({1, 1, 4}, {1, 2, 3, 4});

TEST(Resize, Linear) {
  expect_tensor(run_op("Resize", {kX}, resize("linear", "half_pixel", {1, 1, 2})),
                f32({1, 1, 8}, {1, 1.25, 1.75, 2.25, 2.75, 3.25, 3.75, 4}));
  expect_tensor(run_op("Resize", {kX, i64({3}, {1, 1, 7})}, resize("linear", "align_corners", {})),
                f32({1, 1, 7}, {1, 1.5, 2, 2.5, 3, 3.5, 4}), 1e-6);
  expect_tensor(run_op("Resize", {kX}, resize("linear", "asymmetric", {1, 1, 0.5})), f32({1, 1, 2}, {1, 3}));
}

TEST(Resize, NearestModesBreakTiesTheirWay) {
  AttrMap attrs = resize("nearest", "half_pixel", {1, 1, 0.5});  // coordinates 0.5 and 2.5
  expect_tensor(run_op("Resize", {kX}, attrs), f32({1, 1, 2}, {1, 3}));
  attrs["nearest_mode"] = std::string("round_prefer_ceil");
  expect_tensor(run_op("Resize", {kX}, attrs), f32({1, 1, 2}, {2, 4}));
  attrs["nearest_mode"] = std::string("ceil");
  expect_tensor(run_op("Resize", {kX}, attrs), f32({1, 1, 2}, {2, 4}));
  attrs["nearest_mode"] = std::string("floor");
  expect_tensor(run_op("Resize", {kX}, attrs), f32({1, 1, 2}, {1, 3}));
}

TEST(Resize, AntialiasAveragesWhatIsLeftOut) {
  AttrMap attrs = resize("linear", "half_pixel", {1, 1, 0.5});
  attrs["antialias"] = int64_t{1};
  // Triangles of half width 2 around 0.5 and 2.5: weights 3 3 1 (clamped 1) of 8.
  expect_tensor(run_op("Resize", {kX}, attrs),
                f32({1, 1, 2}, {(1 + 3 * 1 + 3 * 2 + 3) / 8.0, (2 + 3 * 3 + 3 * 4 + 4) / 8.0}), 1e-6);
}

TEST(Resize, CropsAndExtrapolates) {
  AttrMap attrs = resize("linear", "tf_crop_and_resize", {1, 1, 0.75});
  attrs["roi"] = Floats{0, 0, 0.5, 1, 1, 1.5};
  attrs["extrapolation_value"] = -1.0;
  expect_tensor(run_op("Resize", {kX}, attrs), f32({1, 1, 3}, {2.5, 4, -1}), 1e-6);
}

TEST(Resize, KeepsTheAspectRatio) {
  const HostTensor x = iota(DType::kF32, {2, 4});
  for (const auto& [policy, rows, columns] : {std::tuple("not_larger", 3, 6), std::tuple("not_smaller", 4, 8)}) {
    const HostTensor y = run_op("Resize", {x, i64({2}, {4, 6})}, {{"keep_aspect_ratio_policy", std::string(policy)}});
    EXPECT_EQ(y.dims().to_string(), (Dims{rows, columns}).to_string());
  }
}

// Detectors resize an image by sizes that they compute, after the extents of its channels.
TEST(Resize, KnownSizesAmongComputedOnes) {
  Graph graph("test");
  Value* x = graph.add_input("x", DType::kF32, to_shape({1, 3, 4, 4}));
  Value* known = graph.add_constant("known", i64({2}, {1, 3}));
  Value* computed = graph.add_input("computed", DType::kI64, to_shape({2}));
  Node* sizes = graph.add_node(op("Concat"), "sizes", {known, computed}, {{"axis", int64_t{0}}}, 1);
  Node* node = graph.add_node(op("Resize"), "n", {x, sizes->output(0)}, {}, 1);
  graph.mark_output(node->output(0));
  ASSERT_TRUE(infer_graph(graph).ok());
  const Shape& y = node->output(0)->shape();
  EXPECT_EQ(y[0], Dim(1));
  EXPECT_EQ(y[1], Dim(3));
  EXPECT_FALSE(y[2].is_const() || y[3].is_const() || y[2] == y[3]);
  const auto results = run_graph(graph, {iota(DType::kF32, {1, 3, 4, 4}), i64({2}, {2, 8})});
  ASSERT_TRUE(results.ok()) << results.status().to_string();
  EXPECT_EQ((*results)[0].dims().to_string(), (Dims{1, 3, 2, 8}).to_string());
}

TEST(Resize, ScalesThatAreNotExactInBinary) {
  EXPECT_EQ(ops::scaled_extent(Dim(10), static_cast<double>(0.7f)), Dim(7));
  EXPECT_EQ(ops::scaled_extent(Dim(3), static_cast<double>(1.0f / 3)), Dim(1));
  EXPECT_EQ(ops::scaled_extent(Dim(5), 2), Dim(10));
  const Dim s = Dim::symbol(0);
  EXPECT_EQ(ops::scaled_extent(s, 2), s * Dim(2));
}

TEST(Resize, Refusals) {
  EXPECT_FALSE(try_op("Resize", {kX}).ok());
  EXPECT_FALSE(try_op("Resize", {kX}, resize("linear", "half_pixel", {1, 2})).ok());
  EXPECT_FALSE(try_op("Resize", {kX}, resize("linear", "half_pixel", {1, 1, 0})).ok());
  EXPECT_FALSE(try_op("Resize", {kX}, resize("quadratic", "half_pixel", {1, 1, 2})).ok());
  EXPECT_FALSE(try_op("Resize", {kX, i64({2}, {1, 7})}, resize("linear", "half_pixel", {})).ok());
}

}  // namespace
}  // namespace wootz
