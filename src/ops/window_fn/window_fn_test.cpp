#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

AttrMap window(const char* kind, int64_t periodic) { return {{"kind", std::string(kind)}, {"periodic", periodic}}; }

TEST(WindowFunction, KnownShapes) {
  const HostTensor four = i64({}, {4}), five = i64({}, {5});
  expect_tensor(run_op("WindowFunction", {four}, window("hann", 1)), f32({4}, {0, 0.5, 1, 0.5}), 1e-6);
  expect_tensor(run_op("WindowFunction", {five}, window("hann", 0)), f32({5}, {0, 0.5, 1, 0.5, 0}), 1e-6);
  expect_tensor(run_op("WindowFunction", {five}, window("blackman", 0)), f32({5}, {0, 0.34, 1, 0.34, 0}), 1e-6);
  expect_tensor(run_op("WindowFunction", {four}, window("hamming", 1)), f32({4}, {4 / 46.0, 25 / 46.0, 1, 25 / 46.0}),
                1e-6);
  expect_tensor(run_op("WindowFunction", {i64({}, {1})}, window("hann", 0)), f32({1}, {1}));
  EXPECT_FALSE(try_op("WindowFunction", {four}, window("kaiser", 1)).ok());
  EXPECT_FALSE(try_op("WindowFunction", {i64({}, {-1})}, window("hann", 1)).ok());
}

}  // namespace
}  // namespace wootz
