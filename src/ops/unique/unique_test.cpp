#include <limits>

#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

std::vector<HostTensor> unique(const HostTensor& x, AttrMap attrs) {
  auto out = try_op("Unique", {x}, std::move(attrs), 4);
  EXPECT_TRUE(out.ok()) << out.status().to_string();
  return out.ok() ? *out : std::vector<HostTensor>(4);
}

TEST(Unique, OrderOfFirstOccurrence) {
  const auto out = unique(f32({6}, {2, 1, 1, 3, 4, 3}), {{"sorted", int64_t{0}}});
  expect_tensor(out[0], f32({4}, {2, 1, 3, 4}));
  expect_tensor(out[1], i64({4}, {0, 1, 3, 4}));
  expect_tensor(out[2], i64({6}, {0, 1, 1, 2, 3, 2}));
  expect_tensor(out[3], i64({4}, {1, 2, 2, 1}));
}

TEST(Unique, SortedAndFlattened) {
  const auto out = unique(f32({2, 2}, {1, 3, 2, 3}), {});
  expect_tensor(out[0], f32({3}, {1, 2, 3}));
  expect_tensor(out[1], i64({3}, {0, 2, 1}));
  expect_tensor(out[2], i64({4}, {0, 2, 1, 2}));
  expect_tensor(out[3], i64({3}, {1, 1, 2}));
}

TEST(Unique, SlicesAlongAnAxis) {
  const auto out = unique(f32({2, 4, 2}, {1, 1, 0, 1, 2, 1, 0, 1, 1, 1, 0, 1, 2, 1, 0, 1}), {{"axis", int64_t{1}}});
  expect_tensor(out[0], f32({2, 3, 2}, {0, 1, 1, 1, 2, 1, 0, 1, 1, 1, 2, 1}));
  expect_tensor(out[1], i64({3}, {1, 0, 2}));
  expect_tensor(out[2], i64({4}, {1, 0, 2, 0}));
  expect_tensor(out[3], i64({3}, {2, 1, 1}));
}

TEST(Unique, NanAndEmpty) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto out = unique(f32({4}, {nan, 1, nan, 0}), {});
  expect_tensor(out[0], f32({3}, {0, 1, nan}));
  expect_tensor(out[3], i64({3}, {1, 1, 2}));
  expect_tensor(unique(f32({0}, {}), {})[0], f32({0}, {}));
}

}  // namespace
}  // namespace wootz
