#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

TEST(Tile, Repeats) {
  const HostTensor x = f32({2, 2}, {1, 2, 3, 4});
  expect_tensor(run_op("Tile", {x}, {{"repeats", Ints{1, 2}}}), f32({2, 4}, {1, 2, 1, 2, 3, 4, 3, 4}));
  expect_tensor(run_op("Tile", {x, i64({2}, {2, 1})}), f32({4, 2}, {1, 2, 3, 4, 1, 2, 3, 4}));
  expect_tensor(run_op("Tile", {make(DType::kU4, {3}, {1, 2, 3})}, {{"repeats", Ints{2}}}),
                make(DType::kU4, {6}, {1, 2, 3, 1, 2, 3}));
  expect_tensor(run_op("Tile", {x}, {{"repeats", Ints{0, 1}}}), f32({0, 2}, {}));
  EXPECT_FALSE(try_op("Tile", {x}, {{"repeats", Ints{2}}}).ok());
  EXPECT_FALSE(try_op("Tile", {x}, {{"repeats", Ints{2, -1}}}).ok());
}

}  // namespace
}  // namespace wootz
