// Concatenations, splits and slices that need no copy: by text graphs, from the build over the plan file to results.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "base/tolerance.h"
#include "memory/built.h"
#include "ops/interpreter.h"

namespace wootz::memory_test {
namespace {

HostTensor random(const Dims& dims, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  std::vector<float> data(static_cast<size_t>(dims.volume()));
  for (float& v : data) v = normal(rng);
  return HostTensor::from<float>(data, dims);
}

struct Moves {
  size_t subviews = 0, copies = 0, ranges = 0;  // expected
  size_t concats = 0, splits = 0, slices = 0;
};

// Builds, looks at what became of the moves, and runs at each of the inputs' shapes.
void expect_moves(const char* text, const Moves& expected, const std::vector<std::vector<Dims>>& shapes,
                  const BuildSettings& options = {}) {
  auto graph = parse(text), untouched = parse(text);
  ASSERT_TRUE(graph.ok()) << graph.status().to_string();
  const Result<Built> built = build(**graph, options);
  ASSERT_TRUE(built.ok()) << built.status().to_string();
  EXPECT_EQ(built->report.placed.subviews, expected.subviews);
  EXPECT_EQ(built->report.placed.copies, expected.copies);
  EXPECT_EQ(built->report.placed.ranges, expected.ranges);
  EXPECT_EQ(built->moves(MoveKind::kConcat), expected.concats);
  EXPECT_EQ(built->moves(MoveKind::kSplit), expected.splits);
  EXPECT_EQ(built->moves(MoveKind::kSlice), expected.slices);
  Bindings bindings(built->engine);
  Executor executor(built->engine);
  for (const std::vector<Dims>& dims : shapes) {
    std::vector<HostTensor> inputs;
    for (size_t i = 0; i < dims.size(); ++i) inputs.push_back(random(dims[i], static_cast<unsigned>(i + 1)));
    const auto want = run_graph(**untouched, inputs);
    ASSERT_TRUE(want.ok()) << want.status().to_string();
    for (int again = 0; again < 2; ++again) {
      const auto got = run(executor, bindings, inputs);
      ASSERT_TRUE(got.ok()) << got.status().to_string();
      for (size_t o = 0; o < want->size(); ++o) {
        const Difference d = compare_by_place((*got)[o], (*want)[o]);
        EXPECT_TRUE(within(d, tolerance_for(DType::kF32, 64))) << "output " << o << ": " << to_string(d);
      }
    }
  }
}

TEST(InPlace, ResultsAreWrittenIntoAConcatenation) {
  expect_moves(R"(graph "g" {
    %x: f32[1,3,8,8] = input; %y: f32[1,5,8,8] = input;
    %a = Softmax(%x) {axis = 1}; %b = Softmax(%y) {axis = 3};
    %c = Concat(%a, %b) {axis = 1}; %d = Softmax(%c) {axis = 2};
    return %d;
  })",
               {.subviews = 2}, {{{1, 3, 8, 8}, {1, 5, 8, 8}}});
}

TEST(InPlace, OneThatIsANetworkOutput) {
  expect_moves(R"(graph "g" {
    %x: f32[4,6] = input; %y: f32[3,6] = input;
    %a = Softmax(%x) {axis = 1}; %b = Softmax(%y) {axis = 1};
    %c = Concat(%a, %b) {axis = 0};
    return %c;
  })",
               {.subviews = 2}, {{{4, 6}, {3, 6}}});
}

TEST(InPlace, AConcatenationInAConcatenation) {
  expect_moves(R"(graph "g" {
    %x: f32[4,6] = input;
    %a = Softmax(%x) {axis = 1}; %b = Softmax(%x) {axis = 0};
    %c = Concat(%a, %b) {axis = 0}; %d = Softmax(%c) {axis = 0};
    %e = Concat(%d, %c) {axis = 0}; %f = Softmax(%e) {axis = 1};
    return %f;
  })",
               {.subviews = 4}, {{{4, 6}}});
}

TEST(InPlace, WhatMustBeElsewhereTooIsCopied) {
  // An input of the network, and a value that another concatenation has taken.
  expect_moves(R"(graph "g" {
    %x: f32[2,6000] = input;
    %a = Softmax(%x) {axis = 1}; %b = Softmax(%x) {axis = 0};
    %c = Concat(%a, %b) {axis = 0}; %s = Softmax(%c) {axis = 1};
    %d = Concat(%x, %s) {axis = 0}; %e = Softmax(%d) {axis = 1};
    %f = Concat(%a, %s) {axis = 0}; %g = Softmax(%f) {axis = 1};
    return %e, %g;
  })",
               {.subviews = 3, .copies = 1, .concats = 1}, {{{2, 6000}}});
}

TEST(InPlace, OneValueTwiceIsInOnePlaceOnly) {
  expect_moves(R"(graph "g" {
    %x: f32[2,6000] = input;
    %a = Softmax(%x) {axis = 1};
    %c = Concat(%a, %a) {axis = 0}; %d = Softmax(%c) {axis = 0};
    return %d;
  })",
               {.subviews = 1, .copies = 1}, {{{2, 6000}}});
}

TEST(InPlace, InnerAxesAreCopied) {
  expect_moves(R"(graph "g" {
    %x: f32[4,6] = input;
    %a = Softmax(%x) {axis = 1}; %b = Softmax(%x) {axis = 0};
    %c = Concat(%a, %b) {axis = 1}; %d = Softmax(%c) {axis = 0};
    %s, %t = Split(%d) {axis = 1, split = [5, 7]};
    %u = Softmax(%s) {axis = 0}; %v = Softmax(%t) {axis = 0};
    return %u, %v;
  })",
               {.concats = 1, .splits = 1}, {{{4, 6}}});
}

TEST(InPlace, SplitsAndSlicesAreRanges) {
  expect_moves(R"(graph "g" {
    %x: f32[1,8,5,5] = input;
    %a = Softmax(%x) {axis = 1};
    %s, %t = Split(%a) {axis = 1, split = [3, 5]};
    %u = Softmax(%s) {axis = 2}; %v = Softmax(%t) {axis = 3};
    %w = Slice(%t) {starts = [1], ends = [4], axes = [1], steps = [1]}; %z = Softmax(%w) {axis = 1};
    %k = Slice(%x) {starts = [2], ends = [6], axes = [1], steps = [1]}; %l = Softmax(%k) {axis = 1};
    return %u, %v, %z, %l;
  })",
               {.ranges = 4}, {{{1, 8, 5, 5}}});
}

TEST(InPlace, StepsAndOutputsAndTurnedOrdersAreCopied) {
  expect_moves(R"(graph "g" {
    %x: f32[8,5] = input;
    %a = Softmax(%x) {axis = 1};
    %w = Slice(%a) {starts = [1], ends = [8], axes = [0], steps = [2]}; %z = Softmax(%w) {axis = 1};
    %s, %t = Split(%a) {axis = 0, split = [3, 5]};
    %u = Softmax(%t) {axis = 0};
    return %z, %s, %u;
  })",
               {.splits = 1, .slices = 1}, {{{8, 5}}});
}

BuildSettings range_of(const Dims& min, const Dims& opt, const Dims& max) {
  BuildSettings options;
  options.profiles.resize(1);
  options.profiles[0].dims["x"] = {min, opt, max};
  return options;
}

TEST(InPlace, PlacesThatShapesDecide) {
  // One image of any size: its channels are outermost whatever the size is.
  expect_moves(R"(graph "g" {
    sym H = input_dim %x 2;
    %x: f32[1,4,H,6] = input;
    %a = Softmax(%x) {axis = 1}; %b = Softmax(%x) {axis = 3};
    %c = Concat(%a, %b) {axis = 1}; %d = Softmax(%c) {axis = 3};
    %s, %t = Split(%d) {axis = 1, split = [3, 5]};
    %u = Softmax(%s) {axis = 3}; %v = Softmax(%t) {axis = 3};
    return %u, %v;
  })",
               {.subviews = 2, .ranges = 2}, {{{1, 4, 3, 6}}, {{1, 4, 9, 6}}, {{1, 4, 1, 6}}, {{1, 4, 3, 6}}},
               range_of({1, 4, 1, 6}, {1, 4, 5, 6}, {1, 4, 9, 6}));
}

TEST(InPlace, AnyNumberOfImagesIsCopied) {
  expect_moves(R"(graph "g" {
    sym N = input_dim %x 0;
    %x: f32[N,4,3,6] = input;
    %a = Softmax(%x) {axis = 1}; %b = Softmax(%x) {axis = 3};
    %c = Concat(%a, %b) {axis = 1}; %d = Softmax(%c) {axis = 3};
    return %d;
  })",
               {.concats = 1}, {{{1, 4, 3, 6}}, {{3, 4, 3, 6}}}, range_of({1, 4, 3, 6}, {2, 4, 3, 6}, {4, 4, 3, 6}));
}

TEST(InPlace, ThroughReshapes) {
  expect_moves(R"(graph "g" {
    %x: f32[4,6] = input;
    %flat: i64[2] = const [1, 24];
    %a = Softmax(%x) {axis = 1}; %b = Softmax(%x) {axis = 0};
    %p = Reshape(%a, %flat); %q = Reshape(%b, %flat);
    %c = Concat(%p, %q) {axis = 1}; %d = Softmax(%c) {axis = 1};
    %e = Softmax(%a) {axis = 0};
    return %d, %e;
  })",
               {.subviews = 2}, {{{4, 6}}});
}

TEST(InPlace, TensorsWithoutAStepOfTheirOwnCanBeTapped) {
  auto graph = parse(R"(graph "g" {
    %x: f32[2,6] = input;
    %a = Softmax(%x) {axis = 1}; %b = Softmax(%x) {axis = 0};
    %c = Concat(%a, %b) {axis = 0}; %d = Softmax(%c) {axis = 1};
    %s, %t = Split(%d) {axis = 0, split = [1, 3]};
    %u = Softmax(%s) {axis = 1}; %v = Softmax(%t) {axis = 1};
    return %u, %v;
  })");
  ASSERT_TRUE(graph.ok()) << graph.status().to_string();
  auto untouched = parse(print_graph(**graph));
  const Result<Built> built = build(**graph);
  ASSERT_TRUE(built.ok()) << built.status().to_string();
  ASSERT_EQ(built->report.placed.subviews, 2u);
  ASSERT_EQ(built->report.placed.ranges, 2u);
  std::vector<TensorIndex> all;
  for (const TensorIndex t : built->program->tensors.indices()) all.push_back(t);
  std::map<std::string, std::vector<float>> seen;
  Bindings bindings(built->engine);
  Executor executor(built->engine);
  executor.set_tap(all, [&](TensorIndex t, const void* data, const Dims& dims) {
    const auto* from = static_cast<const float*>(data);
    seen[built->program->tensors[t].name].assign(from, from + dims.volume());
    return Status();
  });
  const std::vector<HostTensor> inputs{random({2, 6}, 1)};
  ASSERT_TRUE(run(executor, bindings, inputs).ok());
  std::vector<int> ids;
  std::vector<std::string> names;
  for (const Node* node : (*untouched)->nodes())
    for (const Value* v : node->outputs()) {
      ids.push_back(v->id());
      names.push_back(v->name());
    }
  std::vector<HostTensor> want;
  ASSERT_TRUE(run_graph_taps(**untouched, inputs, ids, &want).ok());
  for (size_t i = 0; i < names.size(); ++i) {
    ASSERT_EQ(seen.count(names[i]), 1u) << names[i];
    for (int64_t e = 0; e < want[i].volume(); ++e)
      EXPECT_NEAR(seen[names[i]][static_cast<size_t>(e)], want[i].get_f64(e), 1e-6) << names[i];
  }
}

}  // namespace
}  // namespace wootz::memory_test
