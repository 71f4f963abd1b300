#include "ops/op_testing.h"

namespace wootz {
namespace {

using namespace optest;

AttrMap pool(const char* kind, Ints kernel, AttrMap more = {}) {
  more["kind"] = std::string(kind);
  more["kernel"] = std::move(kernel);
  return more;
}

const HostTensor kX = f32({1, 1, 2, 3}, {1, 5, 2, 4, 3, 6});

TEST(Pool, Kinds) {
  expect_tensor(run_op("Pool", {kX}, pool("max", {2, 2})), f32({1, 1, 1, 2}, {5, 6}));
  expect_tensor(run_op("Pool", {kX}, pool("avg", {2, 2})), f32({1, 1, 1, 2}, {3.25, 4}));
  expect_tensor(run_op("Pool", {kX}, pool("lp", {1, 2}, {{"p", int64_t{1}}})), f32({1, 1, 2, 2}, {6, 7, 7, 9}));
  expect_tensor(run_op("Pool", {f32({1, 1, 2}, {3, -4})}, pool("lp", {2})), f32({1, 1, 1}, {5}), 1e-6);
}

TEST(Pool, PaddingCountsOnlyWhenAsked) {
  const HostTensor x = f32({1, 1, 2}, {2, 4});
  const AttrMap pads{{"pads", Ints{1, 1}}};
  expect_tensor(run_op("Pool", {x}, pool("avg", {2}, pads)), f32({1, 1, 3}, {2, 3, 4}));
  AttrMap counted = pads;
  counted["count_include_pad"] = int64_t{1};
  expect_tensor(run_op("Pool", {x}, pool("avg", {2}, counted)), f32({1, 1, 3}, {1, 3, 2}));
  expect_tensor(run_op("Pool", {f32({1, 1, 2}, {-2, -4})}, pool("max", {2}, pads)), f32({1, 1, 3}, {-2, -2, -4}));
}

TEST(Pool, CeilModeDropsWindowsThatStartInThePadding) {
  const AttrMap ceil{{"ceil_mode", int64_t{1}}, {"strides", Ints{2}}};
  expect_tensor(run_op("Pool", {f32({1, 1, 3}, {1, 2, 3})}, pool("max", {2}, ceil)), f32({1, 1, 2}, {2, 3}));
  AttrMap padded = ceil;
  padded["pads"] = Ints{1, 1};
  expect_tensor(run_op("Pool", {f32({1, 1, 3}, {1, 2, 3})}, pool("max", {1}, padded)), f32({1, 1, 2}, {-INFINITY, 2}));
  // With count_include_pad the divisor stops at the end of the padding.
  AttrMap counted = ceil;
  counted["count_include_pad"] = int64_t{1};
  expect_tensor(run_op("Pool", {f32({1, 1, 3}, {1, 2, 3})}, pool("avg", {2}, counted)), f32({1, 1, 2}, {1.5, 3}));
}

TEST(Pool, IndicesCountOverTheWholeTensor) {
  const HostTensor x = f32({1, 2, 2, 2}, {1, 2, 3, 0, 5, 4, 0, 0});
  expect_tensor(run_op("Pool", {x}, pool("max", {2, 2}), 1), i64({1, 2, 1, 1}, {2, 4}));
  expect_tensor(run_op("Pool", {x}, pool("max", {2, 2}, {{"storage_order", int64_t{1}}}), 1),
                i64({1, 2, 1, 1}, {1, 4}));
}

TEST(Pool, GlobalAndNan) {
  const AttrMap global{{"kind", std::string("avg")}, {"global", int64_t{1}}};
  expect_tensor(run_op("Pool", {kX}, global), f32({1, 1, 1, 1}, {3.5}));
  expect_tensor(run_op("Pool", {f32({1, 1, 3}, {1, NAN, 2})}, pool("max", {2})), f32({1, 1, 2}, {NAN, NAN}));
}

TEST(Pool, Refusals) {
  EXPECT_FALSE(try_op("Pool", {kX}, pool("median", {2, 2})).ok());
  EXPECT_FALSE(try_op("Pool", {kX}, pool("max", {2})).ok());
  EXPECT_FALSE(try_op("Pool", {kX}, pool("max", {3, 3})).ok());
  EXPECT_FALSE(try_op("Pool", {kX}, pool("avg", {2, 2}), 2).ok());
}

TEST(MaxUnpool, PutsValuesBackAndChecksIndices) {
  const AttrMap attrs{{"kernel", Ints{2}}, {"strides", Ints{2}}};
  expect_tensor(run_op("MaxUnpool", {f32({1, 1, 2}, {5, 6}), i64({1, 1, 2}, {1, 2})}, attrs),
                f32({1, 1, 4}, {0, 5, 6, 0}));
  expect_tensor(run_op("MaxUnpool", {f32({1, 1, 2}, {5, 6}), i64({1, 1, 2}, {1, 2}), i64({3}, {1, 1, 5})}, attrs),
                f32({1, 1, 5}, {0, 5, 6, 0, 0}));
  EXPECT_FALSE(try_op("MaxUnpool", {f32({1, 1, 2}, {5, 6}), i64({1, 1, 2}, {1, 4})}, attrs).ok());
  EXPECT_FALSE(try_op("MaxUnpool", {f32({1, 1, 2}, {5, 6}), i64({1, 1, 2}, {-1, 0})}, attrs).ok());
}

}  // namespace
}  // namespace wootz
