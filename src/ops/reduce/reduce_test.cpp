#include <limits>

#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

AttrMap by(const char* kind, Ints axes, int64_t keep = 0) {
  return {{"kind", std::string(kind)}, {"axes", axes}, {"keepdims", keep}};
}

TEST(Reduce, EveryKind) {
  const HostTensor x = f32({2, 3}, {1, -2, 3, 4, 0.5, 6});
  expect_tensor(run_op("Reduce", {x}, by("sum", {1})), f32({2}, {2, 10.5}), 1e-6);
  expect_tensor(run_op("Reduce", {x}, by("sum", {0}, 1)), f32({1, 3}, {5, -1.5, 9}), 1e-6);
  expect_tensor(run_op("Reduce", {x}, by("mean", {1})), f32({2}, {0.666666667, 3.5}), 1e-6);
  expect_tensor(run_op("Reduce", {x}, by("max", {-1})), f32({2}, {3, 6}));
  expect_tensor(run_op("Reduce", {x}, by("min", {0, 1})), f32({}, {-2}));
  expect_tensor(run_op("Reduce", {x}, by("prod", {1})), f32({2}, {-6, 12}), 1e-6);
  expect_tensor(run_op("Reduce", {x}, by("l1", {1})), f32({2}, {6, 10.5}), 1e-6);
  expect_tensor(run_op("Reduce", {x}, by("l2", {1})), f32({2}, {3.741657387, 7.228416147}), 1e-6);
  expect_tensor(run_op("Reduce", {x}, by("sumsq", {1})), f32({2}, {14, 52.25}), 1e-6);
  expect_tensor(run_op("Reduce", {x}, by("logsum", {1})), f32({2}, {0.693147181, 2.351375257}), 1e-6);
  expect_tensor(run_op("Reduce", {x}, by("logsumexp", {1})), f32({2}, {3.132845163, 6.130521243}), 1e-5);
  expect_tensor(run_op("Reduce", {x}, {{"kind", std::string("sum")}}), f32({1, 1}, {12.5}), 1e-6);
}

TEST(Reduce, LargeValuesDoNotOverflow) {
  expect_tensor(run_op("Reduce", {f32({2}, {1000, 1000})}, by("logsumexp", {0})), f32({}, {1000.693147}), 1e-6);
  expect_tensor(run_op("Reduce", {f32({2}, {-kInf, -kInf})}, by("logsumexp", {0})), f32({}, {-kInf}));
  expect_tensor(run_op("Reduce", {f32({2}, {kInf, 0})}, by("logsumexp", {0})), f32({}, {kInf}));
  expect_tensor(run_op("Reduce", {make(DType::kF16, {3}, {60000, 60000, -60000})}, by("sum", {0})),
                make(DType::kF16, {}, {60000}));
}

TEST(Reduce, NothingToReduce) {
  const HostTensor none = f32({2, 0}, {});
  expect_tensor(run_op("Reduce", {none}, by("sum", {1})), f32({2}, {0, 0}));
  expect_tensor(run_op("Reduce", {none}, by("prod", {1})), f32({2}, {1, 1}));
  expect_tensor(run_op("Reduce", {none}, by("max", {1})), f32({2}, {-kInf, -kInf}));
  expect_tensor(run_op("Reduce", {none}, by("min", {1})), f32({2}, {kInf, kInf}));
  expect_tensor(run_op("Reduce", {none}, by("mean", {1})), f32({2}, {kNan, kNan}));
  expect_tensor(run_op("Reduce", {none}, by("logsumexp", {1})), f32({2}, {-kInf, -kInf}));
  expect_tensor(run_op("Reduce", {make(DType::kU8, {0}, {})}, by("min", {0})), make(DType::kU8, {}, {255}));
  expect_tensor(run_op("Reduce", {i32({0}, {})}, by("max", {0})), i32({}, {-2147483648.0}));
  expect_tensor(run_op("Reduce", {f32({2}, {3, -4})}, by("sum", {})), f32({2}, {3, -4}));
}

TEST(Reduce, IntegersAndBool) {
  expect_tensor(run_op("Reduce", {i32({4}, {-7, 2, 1, 1})}, by("mean", {0})), i32({}, {0}));
  expect_tensor(run_op("Reduce", {i32({2}, {-7, 2})}, by("mean", {0})), i32({}, {-2}));
  expect_tensor(run_op("Reduce", {i64({3}, {-7, 2, 3})}, by("l1", {0})), i64({}, {12}));
  expect_tensor(run_op("Reduce", {i32({2}, {3, 4})}, by("l2", {0})), i32({}, {5}));
  expect_tensor(run_op("Reduce", {make(DType::kU8, {2}, {200, 100})}, by("sum", {0})), make(DType::kU8, {}, {44}));
  expect_tensor(run_op("Reduce", {boolean({2, 2}, {0, 1, 0, 0})}, by("max", {1})), boolean({2}, {1, 0}));
  EXPECT_FALSE(try_op("Reduce", {boolean({1}, {0})}, by("sum", {0})).ok());
}

TEST(Reduce, NanWins) {
  expect_tensor(run_op("Reduce", {f32({3}, {1, kNan, 2})}, by("max", {0})), f32({}, {kNan}));
  expect_tensor(run_op("Reduce", {f32({3}, {kNan, 1, 2})}, by("min", {0})), f32({}, {kNan}));
}

TEST(Reduce, AxesAsAnInput) {
  const HostTensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  expect_tensor(run_op("Reduce", {x, i64({1}, {-1})}, {{"kind", std::string("sum")}, {"keepdims", int64_t{0}}}),
                f32({2}, {6, 15}));
  expect_tensor(run_op("Reduce", {x, i64({0}, {})}, {{"kind", std::string("sum")}, {"keepdims", int64_t{0}}}),
                f32({}, {21}));
  expect_tensor(
      run_op("Reduce", {x, i64({0}, {})}, {{"kind", std::string("sumsq")}, {"noop_with_empty_axes", int64_t{1}}}),
      f32({2, 3}, {1, 4, 9, 16, 25, 36}));
}

TEST(Reduce, Refusals) {
  const HostTensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_FALSE(try_op("Reduce", {x}, by("median", {0})).ok());
  EXPECT_FALSE(try_op("Reduce", {x}, by("sum", {2})).ok());
  EXPECT_FALSE(try_op("Reduce", {x}, by("sum", {0, -2})).ok());
}

TEST(Reduce, ProductOfAShape) {
  SymbolicGraph g;
  const Dim n = g.symbol("n");
  Value* shape = g.add("Shape", {g.input(DType::kF32, {n, 6})});
  Value* count = g.add("Reduce", {shape}, by("prod", {0}));
  ASSERT_TRUE(count->shape_values().has_value());
  EXPECT_TRUE(count->shape_values()->at(0) == n * 6);
}

}  // namespace
}  // namespace wootz
