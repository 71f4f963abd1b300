#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

AttrMap block(int64_t size, const char* mode) { return {{"blocksize", size}, {"mode", std::string(mode)}}; }

TEST(DepthSpace, Modes) {
  const HostTensor x = iota(DType::kF32, {1, 8, 1, 1});
  expect_tensor(run_op("DepthToSpace", {x}, block(2, "DCR")), f32({1, 2, 2, 2}, {0, 2, 4, 6, 1, 3, 5, 7}));
  expect_tensor(run_op("DepthToSpace", {x}, block(2, "CRD")), f32({1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7}));
  expect_tensor(run_op("SpaceToDepth", {iota(DType::kF32, {1, 2, 2, 2})}, block(2, "DCR")),
                f32({1, 8, 1, 1}, {0, 4, 1, 5, 2, 6, 3, 7}));
  expect_tensor(run_op("SpaceToDepth", {iota(DType::kF32, {1, 1, 2, 4})}, block(2, "DCR")),
                f32({1, 4, 1, 2}, {0, 2, 1, 3, 4, 6, 5, 7}));
}

TEST(DepthSpace, RoundTrip) {
  for (const char* mode : {"DCR", "CRD"}) {
    const HostTensor x = iota(DType::kI32, {2, 12, 3, 5});
    expect_tensor(run_op("SpaceToDepth", {run_op("DepthToSpace", {x}, block(2, mode))}, block(2, mode)), x);
  }
}

TEST(DepthSpace, Refusals) {
  EXPECT_FALSE(try_op("DepthToSpace", {iota(DType::kF32, {1, 6, 1, 1})}, block(2, "DCR")).ok());
  EXPECT_FALSE(try_op("SpaceToDepth", {iota(DType::kF32, {1, 1, 3, 2})}, block(2, "DCR")).ok());
  EXPECT_FALSE(try_op("SpaceToDepth", {iota(DType::kF32, {1, 1, 2, 2})}, block(0, "DCR")).ok());
  EXPECT_FALSE(try_op("SpaceToDepth", {iota(DType::kF32, {1, 2, 2})}, block(1, "DCR")).ok());
  EXPECT_FALSE(try_op("DepthToSpace", {iota(DType::kF32, {1, 4, 1, 1})}, block(2, "RCD")).ok());
}

}  // namespace
}  // namespace wootz
