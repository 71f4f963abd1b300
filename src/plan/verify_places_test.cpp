#include "plan/verify_places.h"

#include <gtest/gtest.h>

#include "backend/index_literals.h"
#include "plan/read.h"
#include "plan/storage.h"
#include "plan/verify.h"
#include "plan/write.h"

namespace wootz {
namespace {

TensorIndex add(Program* p, const char* name, TensorKind kind, std::vector<ExpressionIndex> dims,
                TensorIndex view_of = {}) {
  PlanTensor t;
  t.name = name;
  t.dtype = DType::kF32;
  t.kind = kind;
  t.dims = std::move(dims);
  t.view_of = view_of;
  return p->tensors.add(std::move(t));
}

void add_step(Program* p, const char* name, std::vector<TensorIndex> inputs, TensorIndex output) {
  const auto describe = [&](TensorIndex t) {
    TensorDesc d;
    d.dtype = DType::kF32;
    for (const ExpressionIndex e : p->tensors[t].dims) {
      const ShapeExpr& x = p->exprs[e];
      d.dims.push_back(x.op == ShapeOp::kConst ? x.value : 4);
    }
    d.max_dims = d.dims;
    return d;
  };
  Step s;
  s.name = name;
  s.tactic = {"native", "k", ""};
  s.problem.set_family(Family::kMove);
  s.problem.num_main = static_cast<int>(inputs.size());
  for (const TensorIndex t : inputs) s.problem.inputs.push_back(describe(t));
  s.problem.outputs = {describe(output)};
  s.inputs = std::move(inputs);
  s.outputs = {output};
  p->steps.push_back(std::move(s));
}

constexpr TensorIndex kX(0), kRange(1), kA(2), kB(3), kBoth(4), kY(5), kFound(6);

// range = rows 1..2 of x [4, N]; both [N + 2, 8] = a [N, 8] above b [2, 8]; y = f(both).
// Expressions: 0 N, 1 4, 2 8, 3 2, 4 N + 2, 5 data-dependent.
Program sample() {
  Program p;
  p.backend = "cpu";
  p.symbols = {{"N", SymbolSource::kInputDim, kX, 1}, {"F", SymbolSource::kDataDependent, kFound, 0}};
  p.exprs = {{ShapeOp::kSymbol, 0, {}},
             {ShapeOp::kConst, 4, {}},
             {ShapeOp::kConst, 8, {}},
             {ShapeOp::kConst, 2, {}},
             {ShapeOp::kAdd, 0, {0_expr, 3_expr}},
             {ShapeOp::kSymbol, 1, {}}};
  add(&p, "x", TensorKind::kInput, {1_expr, 0_expr});
  add(&p, "range", TensorKind::kView, {3_expr, 0_expr}, kX);
  p.tensors[kRange].offset = 0_expr;  // element N: row 1
  add(&p, "a", TensorKind::kSubview, {0_expr, 2_expr}, kBoth);
  add(&p, "b", TensorKind::kSubview, {3_expr, 2_expr}, kBoth);
  add(&p, "both", TensorKind::kIntermediate, {4_expr, 2_expr});
  p.tensors[kBoth].subviews = {kA, kB};
  add(&p, "y", TensorKind::kOutput, {4_expr, 2_expr});
  add(&p, "found", TensorKind::kIntermediate, {5_expr});
  p.inputs = {{kX, false}};
  p.outputs = {{kY, false}};
  p.profiles = {{{{1, 2, 8}, {}}}};
  add_step(&p, "first", {kRange}, kA);
  add_step(&p, "second", {kA, kX}, kB);
  add_step(&p, "find", {kX}, kFound);
  add_step(&p, "last", {kBoth}, kY);
  return p;
}

Result<Storage> storage_at(const Program& p, int64_t n) {
  ShapeValues shapes;
  WOOTZ_RETURN_IF_ERROR(evaluate_shapes(p, std::vector<int64_t>{n, -1}, &shapes));
  IndexedVector<TensorIndex, Dims> dims;
  IndexedVector<TensorIndex, uint8_t> known;
  for (const PlanTensor& t : p.tensors) {
    dims.push_back(tensor_dims(t, shapes).value_or(Dims{}));
    known.push_back(tensor_dims(t, shapes).has_value());
  }
  return find_storage(p, shapes, dims, known, true);
}

TEST(VerifyPlaces, SubviewsAndRangesAreProven) {
  const Program p = sample();
  ASSERT_TRUE(verify_program(p).ok()) << verify_program(p).to_string();
  const Result<Storage> storage = storage_at(p, 5);
  ASSERT_TRUE(storage.ok()) << storage.status().to_string();
  EXPECT_EQ(storage->root[kB], kBoth);
  EXPECT_EQ(storage->offset[kB], 5u * 8 * 4);
  EXPECT_EQ(storage->root[kRange], kX);
  EXPECT_EQ(storage->offset[kRange], 5u * 4);
  EXPECT_EQ(storage->extent[kBoth], 7u * 8 * 4);
  const IndexedVector<TensorIndex, StepIndex> complete = completing_steps(p);
  EXPECT_EQ(complete[kA], 0_step);
  EXPECT_EQ(complete[kBoth], 1_step);
  EXPECT_FALSE(complete[kRange].exists());
}

TEST(VerifyPlaces, SurviveTheFile) {
  const Result<RawBytes> file = write_plan(sample());
  ASSERT_TRUE(file.ok()) << file.status().to_string();
  const auto read = read_plan(*file);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ((*read)->tensors[kBoth].subviews, (std::vector<TensorIndex>{kA, kB}));
  EXPECT_EQ((*read)->tensors[kRange].offset, 0_expr);
  EXPECT_EQ((*read)->tensors[kA].kind, TensorKind::kSubview);
}

TEST(VerifyPlaces, WhatExtentsDecideIsCheckedWithThem) {
  Program p = sample();
  p.tensors[kRange].offset = 4_expr;  // element N + 2: two rows of N fit after it only from N = 2 on
  ASSERT_TRUE(verify_program(p).ok()) << verify_program(p).to_string();
  EXPECT_TRUE(storage_at(p, 2).ok());
  EXPECT_NE(storage_at(p, 1).status().message().find("'range' of shape [2x1] would be elements 3"), std::string::npos)
      << storage_at(p, 1).status().message();
  p = sample();
  p.tensors[kBoth].dims = p.tensors[kY].dims = {2_expr, 2_expr};  // [8, 8]: only right where N is 6
  p.steps[3_step].problem.inputs[0].dims = p.steps[3_step].problem.outputs[0].dims = Dims{8, 8};
  p.steps[3_step].problem.inputs[0].max_dims = p.steps[3_step].problem.outputs[0].max_dims = Dims{8, 8};
  ASSERT_TRUE(verify_program(p).ok()) << verify_program(p).to_string();
  EXPECT_TRUE(storage_at(p, 6).ok());
  EXPECT_NE(storage_at(p, 5).status().message().find("what it is put together from has 224"), std::string::npos);
}

TEST(VerifyPlaces, LiesAreRefused) {
  struct Lie {
    const char* what;
    std::function<void(Program&)> tell;
    const char* message;
  };
  const Lie kLies[] = {
      {"subview of nothing", [](Program& p) { p.tensors[kA].view_of = TensorIndex(70); }, "is a subview of tensor 70"},
      {"subview of another", [](Program& p) { p.tensors[kA].view_of = kY; },
       "lists tensor 'a', which is no subview of it"},
      {"subview not listed", [](Program& p) { p.tensors[kBoth].subviews = {kB}; },
       "does not list its subview tensor 'a'"},
      {"subview listed twice",
       [](Program& p) {
         p.tensors[kBoth].subviews = {kA, kB, kA};
       },
       "twice"},
      {"subview that is none",
       [](Program& p) {
         p.tensors[kBoth].subviews = {kA, kB, kY};
       },
       "'y', which is no subview"},
      {"subview number", [](Program& p) { p.tensors[kBoth].subviews.push_back(TensorIndex()); }, "subview -1 of"},
      {"subview type", [](Program& p) { p.tensors[kA].dtype = DType::kF64; }, "cannot be a subview of"},
      {"subview layout", [](Program& p) { p.tensors[kA].layout = Layout::kBlocked8; }, "cannot be a subview of"},
      {"input of subviews",
       [](Program& p) {
         p.tensors[kX].subviews = {kA};
         p.tensors[kBoth].subviews = {kB};
         p.tensors[kA].view_of = kX;
       },
       "cannot be put together"},
      {"sizes",
       [](Program& p) {
         p.tensors[kA].dims = {3_expr, 2_expr};
         p.tensors[kBoth].dims = {2_expr, 2_expr};
       },
       "has 256 bytes, its subviews have 128"},
      {"written as a whole", [](Program& p) { p.steps[2_step].outputs = {kBoth}; }, "no layer may write"},
      {"subview that no step writes",
       [](Program& p) {
         p.steps[1_step].outputs = {kFound};
         p.steps[2_step].outputs = {TensorIndex()};
       },
       "which nothing writes"},
      {"read before complete", [](Program& p) { std::swap(p.steps[1_step], p.steps[3_step]); }, "is made only later"},
      {"subviews in a circle",
       [](Program& p) {
         p.tensors[kBoth].kind = TensorKind::kSubview;
         p.tensors[kBoth].view_of = kA;
         p.tensors[kA].subviews = {kBoth};
       },
       "cycle"},
      {"subview of data-dependent size",
       [](Program& p) {
         p.tensors[kA].dims = {5_expr, 2_expr};
       },
       "its place depends on a layer's result"},
      {"whole of data-dependent size",
       [](Program& p) {
         p.tensors[kBoth].dims = {5_expr, 2_expr};
       },
       "is in tensor 'both', whose shape depends"},
      {"offset number", [](Program& p) { p.tensors[kRange].offset = 40_expr; }, "begins at shape expression 40"},
      {"offset of no view", [](Program& p) { p.tensors[kY].offset = 0_expr; }, "views nothing"},
      {"data-dependent offset", [](Program& p) { p.tensors[kRange].offset = 5_expr; }, "its place depends"},
      {"range beyond",
       [](Program& p) {
         p.tensors[kX].dims = p.tensors[kRange].dims = {1_expr, 3_expr};
         p.tensors[kRange].offset = 3_expr;
         p.exprs[0_expr] = {ShapeOp::kConst, 1, {}};
         p.symbols[0_symbol].axis = 0;
       },
       "begins at element 2"},
      {"range of another layout", [](Program& p) { p.tensors[kRange].layout = Layout::kChannelsLast; }, "cannot view"},
      {"range of another type", [](Program& p) { p.tensors[kRange].dtype = DType::kI32; }, "cannot view"},
      {"range of half bytes", [](Program& p) { p.tensors[kX].dtype = p.tensors[kRange].dtype = DType::kI4; },
       "a range of"},
  };
  for (const Lie& lie : kLies) {
    Program p = sample();
    lie.tell(p);
    const Status status = verify_program(p);
    EXPECT_FALSE(status.ok()) << lie.what;
    EXPECT_NE(status.message().find(lie.message), std::string::npos) << lie.what << ": " << status.message();
    EXPECT_FALSE(write_plan(p).ok()) << lie.what;
  }
}

// A transposition that moves nothing is a view in another layout; blocks of channels are not.
TEST(VerifyPlaces, AWholeViewMayHaveAnotherLayoutOfTheSameBytes) {
  Program p = sample();
  p.tensors[kRange].offset = {};
  p.tensors[kRange].dims = p.tensors[kX].dims;
  ShapeValues shapes;
  ASSERT_TRUE(evaluate_shapes(p, std::vector<int64_t>{-1, -1}, &shapes).ok());
  for (const Layout layout : {Layout::kLinear, Layout::kChannelsLast, Layout::kBlocked8}) {
    p.tensors[kRange].layout = layout;
    IndexedVector<TensorIndex, TensorIndex> root;
    const Status status = verify_places(p, shapes, &root);
    EXPECT_EQ(status.ok(), layout != Layout::kBlocked8) << status.to_string();
  }
}

}  // namespace
}  // namespace wootz
