#include "ops/op_testing.h"

namespace wootz {
namespace {

using namespace optest;

// Body of a loop over one scalar state: state' = state * 2, going on while state' < 100; each state is given.
std::shared_ptr<Graph> doubling() {
  auto body = std::make_shared<Graph>("body");
  body->add_input("trip", DType::kI64, {});
  body->add_input("going", DType::kBool, {});
  Value* state = body->add_input("state", DType::kF32, {});
  const auto constant = [&](double v) { return body->add_constant("c" + std::to_string(v), f32({}, {v})); };
  Value* next = body->add_node(op("Mul"), "", {state, constant(2)}, {})->output();
  Value* going = body->add_node(op("Less"), "", {next, constant(100)}, {})->output();
  body->mark_output(going);
  body->mark_output(next);
  body->mark_output(body->add_node(op("Identity"), "", {next}, {})->output());
  EXPECT_TRUE(infer_graph(*body).ok());
  return body;
}

TEST(Loop, EndsByCountOrCondition) {
  const AttrMap attrs{{"body", doubling()}, {"states", int64_t{1}}};
  const auto run = [&](HostTensor trips, HostTensor going, double start, int output) {
    return run_op("Loop", {trips, going, f32({}, {start})}, attrs, output, 2);
  };
  expect_tensor(run(i64({}, {3}), {}, 1, 0), f32({}, {8}));
  expect_tensor(run(i64({}, {3}), {}, 1, 1), f32({3}, {2, 4, 8}));
  expect_tensor(run({}, boolean({}, {1}), 40, 1), f32({2}, {80, 160}));
  expect_tensor(run(i64({}, {3}), boolean({}, {0}), 1, 0), f32({}, {1}));
  expect_tensor(run(i64({}, {0}), {}, 1, 1), f32({0}, {}));
  expect_tensor(run(i64({}, {-4}), {}, 1, 1), f32({0}, {}));
}

TEST(Loop, RefusesToRunForEver) {
  auto body = std::make_shared<Graph>("body");
  body->add_input("trip", DType::kI64, {});
  Value* going = body->add_input("going", DType::kBool, {});
  body->mark_output(body->add_node(op("Identity"), "", {going}, {})->output());
  ASSERT_TRUE(infer_graph(*body).ok());
  EXPECT_FALSE(try_op("Loop", {{}, {}}, {{"body", body}, {"states", int64_t{0}}}, 0).ok());
  EXPECT_TRUE(try_op("Loop", {i64({}, {5}), {}}, {{"body", body}, {"states", int64_t{0}}}, 0).ok());
}

TEST(Loop, RefusesStatesThatChangeType) {
  auto body = doubling();
  EXPECT_FALSE(try_op("Loop", {i64({}, {3}), {}, f32({1}, {1})}, {{"body", body}, {"states", int64_t{1}}}, 2).ok());
  EXPECT_FALSE(try_op("Loop", {i64({}, {3}), {}, i64({}, {1})}, {{"body", body}, {"states", int64_t{1}}}, 2).ok());
  EXPECT_FALSE(try_op("Loop", {i64({}, {3}), {}, f32({}, {1})}, {{"body", body}, {"states", int64_t{2}}}, 2).ok());
}

std::shared_ptr<Graph> unary(const char* name, const Shape& shape, AttrMap attrs = {}) {
  auto graph = std::make_shared<Graph>(name);
  Value* x = graph->add_input("x", DType::kF32, shape);
  graph->mark_output(graph->add_node(op(name), "", {x}, std::move(attrs))->output());
  EXPECT_TRUE(infer_graph(*graph).ok());
  return graph;
}

TEST(If, BranchesMayDifferInExtentsNotInRank) {
  const AttrMap attrs{{"then_branch", unary("Neg", {Dim(2)})}, {"else_branch", unary("Abs", {Dim(3)})}};
  const HostTensor two = f32({2}, {1, -2}), three = f32({3}, {-1, 2, -3});
  expect_tensor(run_op("If", {boolean({}, {1}), two, three}, attrs), f32({2}, {-1, 2}));
  expect_tensor(run_op("If", {boolean({}, {0}), two, three}, attrs), f32({3}, {1, 2, 3}));
  EXPECT_FALSE(try_op("If", {boolean({}, {1}), two, f32({}, {1})},
                      {{"then_branch", unary("Neg", {Dim(2)})}, {"else_branch", unary("Neg", {})}})
                   .ok());
  EXPECT_FALSE(try_op("If", {boolean({}, {1}), two}, attrs).ok());
}

TEST(Scan, DirectionsAndAxes) {
  auto body = std::make_shared<Graph>("body");
  Value* state = body->add_input("state", DType::kF32, {});
  Value* element = body->add_input("element", DType::kF32, {});
  Value* sum = body->add_node(op("Add"), "", {state, element}, {})->output();
  body->mark_output(sum);
  body->mark_output(body->add_node(op("Identity"), "", {sum}, {})->output());
  ASSERT_TRUE(infer_graph(*body).ok());
  AttrMap attrs{{"body", body}, {"states", int64_t{1}}, {"scans", int64_t{1}}};
  const HostTensor zero = f32({}, {0}), x = f32({3}, {1, 2, 4});
  expect_tensor(run_op("Scan", {zero, x}, attrs, 1), f32({3}, {1, 3, 7}));
  attrs["input_directions"] = Ints{1};
  expect_tensor(run_op("Scan", {zero, x}, attrs, 1), f32({3}, {4, 6, 7}));
  attrs["output_directions"] = Ints{1};
  expect_tensor(run_op("Scan", {zero, x}, attrs, 1), f32({3}, {7, 6, 4}));
}

}  // namespace
}  // namespace wootz
