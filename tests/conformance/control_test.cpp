// If, Loop and Scan whose bodies stay bodies: their steps are kernels, and they compute what the interpreter does.
#include <gtest/gtest.h>

#include "base/testing.h"
#include "base/tolerance.h"
#include "conformance/parsed_graph.h"
#include "conformance/run_graph_on.h"
#include "ir/text.h"
#include "ops/cases.h"
#include "ops/infer.h"
#include "ops/interpreter.h"
#include "ops/registry.h"

namespace wootz::conformance {
namespace {

class Control : public ::testing::Test {
 protected:
  std::vector<HostTensor> inputs_of(const Graph& graph) {
    std::vector<HostTensor> made;
    for (const Value* v : graph.inputs()) {
      Dims dims;
      for (const Dim& d : v->shape()) dims.push_back(d.is_const() ? d.value() : 5);
      made.push_back(
          random_.random(v->dtype(), dims, v->dtype() == DType::kI64 ? 0 : -1, v->dtype() == DType::kI64 ? 9 : 1));
    }
    return made;
  }
  // Several runs of one context, each with other values. `bodies`: steps that bodies have, at least.
  void check(const std::string& text, size_t bodies, int rounds = 4) {
    for (const bool passes : {true, false}) {
      SCOPED_TRACE(passes ? "passes on" : "passes off");
      const std::unique_ptr<Graph> original = parsed(text), rewritten = parsed(text);
      ASSERT_NE(original, nullptr);
      std::vector<HostTensor> given = inputs_of(*original);
      RunOptions options;
      options.passes = passes;
      Result<PreparedRun> prepared = prepare_graph_on(*rewritten, given, options);
      ASSERT_TRUE(prepared.ok()) << prepared.status().to_string();
      for (int round = 0; round < rounds; ++round) {
        const Result<std::vector<HostTensor>> want = run_graph(*original, given);
        ASSERT_TRUE(want.ok()) << want.status().to_string();
        const Result<RunResult> have = prepared->run();
        ASSERT_TRUE(have.ok()) << have.status().to_string();
        EXPECT_GE(have->body_steps, bodies);
        if (passes) {
          EXPECT_EQ(have->body_reference_steps, 0u);
          EXPECT_EQ(have->reference_steps.size(), 0u);
        }
        for (size_t o = 0; o < want->size(); ++o) {
          const Difference d = compare(have->outputs[o], (*want)[o]);
          EXPECT_TRUE(within(d, tolerance_for((*want)[o].dtype(), 512))) << "output " << o << ": " << to_string(d);
        }
        given = inputs_of(*original);
        ASSERT_TRUE(prepared->feed(given).ok());
      }
    }
  }
  std::string refusal(const std::string& text) {
    const std::unique_ptr<Graph> graph = parsed(text);
    const Result<RunResult> run = run_graph_on(*graph, inputs_of(*graph), {});
    return run.ok() ? "" : run.status().to_string();
  }

  const uint64_t seed_ = test_seed();
  CaseList random_{seed_};
};

TEST_F(Control, BranchesThatMayFailWhereTheyAreNotTaken) {
  check(R"(graph "g" {
    %c: bool[] = input; %x: f32[5,4] = input; %k: f32[4,6] = input;
    %y: f32[5,6] = If(%c, %x, %k, %x) {then_branch = graph "t" {
      %a: f32[5,4] = input; %b: f32[4,6] = input; %i: i64[5] = const [4, 0, 3, 3, 1];
      %r: f32[5,4] = Gather(%a, %i) {axis = 0}; %p: f32[5,6] = MatMul(%r, %b); return %p;
    }, else_branch = graph "e" {
      %b: f32[5,4] = input; %w: f32[4,6] = const [1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6];
      %j: i64[5] = const [0, 1, 2, 2, 1]; %g: f32[5,4] = Gather(%b, %j) {axis = 0}; %r: f32[5,6] = MatMul(%g, %w); return %r;
    }};
    %z = Neg(%y); return %z;
  })",
        4, 8);
}

TEST_F(Control, LoopsThatEndByTheirOwnCondition) {
  check(R"(graph "g" {
    %s: f32[3] = input; %x: f32[3,3] = input; %n: i64[] = const [40]; %a0 = Exp(%s); %least: f32[] = const [200];
    %y: f32[3], %all = Loop(%n, _, %a0, %x, %least) {body = graph "b" {
      %i: i64[] = input; %go: bool[] = input; %a: f32[3] = input; %x: f32[3,3] = input; %m: f32[] = input;
      %e: f32[3,3] = Abs(%x); %v: f32[3] = MatMul(%e, %a); %d: f32[3] = Add(%v, %a);
      %t: f32[] = Reduce(%d) {kind = "sum", axes = [0], keepdims = 0}; %c: bool[] = Less(%t, %m);
      return %c, %d, %v;
    }, states = 1};
    %r = Neg(%y); return %r, %all;
  })",
        3, 8);
}

TEST_F(Control, NoRoundAtAll) {
  check(R"(graph "g" {
    %s: f32[3] = input; %n: i64[] = const [0]; %no: bool[] = const [0]; %t: i64[] = Cast(%no) {to = "i64"};
    %c = Less(%t, %n);
    %y: f32[3], %all = Loop(_, %c, %s) {body = graph "b" {
      %i: i64[] = input; %go: bool[] = input; %a: f32[3] = input; %d: f32[3] = Add(%a, %a); return %go, %d, %d;
    }, states = 1};
    %r = Neg(%y); return %r, %all;
  })",
        1, 1);
}

TEST_F(Control, RoundsByAnInput) {
  check(R"(graph "g" {
    %s: f32[4] = input; %k: i64[1] = input; %n = Squeeze(%k) {axes = [0]};
    %y: f32[4], %all = Loop(%n, _, %s) {body = graph "b" {
      %i: i64[] = input; %go: bool[] = input; %a: f32[4] = input; %f: f32[] = Cast(%i) {to = "f32"};
      %d: f32[4] = Add(%a, %f); return %go, %d, %a;
    }, states = 1};
    %r = Neg(%y); return %r, %all;
  })",
        1, 8);
}

TEST_F(Control, ScanAlongOtherAxesAndBackwards) {
  check(R"(graph "g" {
    %s: f32[2,3] = input; %x: f32[2,300,3] = input; %z: f32[300,2] = input; %k: f32[3] = input;
    %y: f32[2,3], %all: f32[2,3,300], %sums: f32[300,2,3] = Scan(%s, %x, %z, %k) {body = graph "b" {
      %a: f32[2,3] = input; %e: f32[2,3] = input; %f: f32[2] = input; %k: f32[3] = input;
      %h: f32[2,3] = Mul(%a, %k); %r: f32[2,3] = Add(%h, %e); %t: f32[2,3] = Tanh(%r);
      %g: f32[2,1] = Unsqueeze(%f) {axes = [1]}; %u: f32[2,3] = Add(%t, %g);
      return %t, %u, %r;
    }, states = 1, scans = 2, input_axes = [1, 0], input_directions = [1, 0], output_axes = [-1, 0],
       output_directions = [0, 1]};
    %r = Neg(%y); return %r, %all, %sums;
  })",
        1);
}

TEST_F(Control, BodiesWithinBodies) {
  check(R"(graph "g" {
    %s: f32[4] = input; %k: i64[1] = input; %w: f32[4,4] = input; %n = Squeeze(%k) {axes = [0]};
    %y: f32[4] = Loop(%n, _, %s, %w) {body = graph "b" {
      %i: i64[] = input; %go: bool[] = input; %a: f32[4] = input; %w: f32[4,4] = input;
      %three: i64[] = const [3]; %early: bool[] = Less(%i, %three);
      %d: f32[4] = If(%early, %a, %w, %a, %i) {then_branch = graph "t" {
        %a: f32[4] = input; %w: f32[4,4] = input; %j: i64[4] = const [3, 2, 1, 0];
        %g: f32[4] = Gather(%a, %j) {axis = 0}; %v: f32[4] = MatMul(%w, %g); %r: f32[4] = Tanh(%v); return %r;
      }, else_branch = graph "e" {
        %a: f32[4] = input; %i: i64[] = input;
        %r: f32[4] = Loop(%i, _, %a) {body = graph "inner" {
          %k: i64[] = input; %on: bool[] = input; %b: f32[4] = input; %h: f32[] = const [0.5];
          %f: f32[] = Cast(%k) {to = "f32"}; %m: f32[4] = Mul(%b, %h); %q: f32[4] = Add(%m, %f); return %on, %q;
        }, states = 1};
        return %r;
      }};
      return %go, %d;
    }, states = 1};
    %r = Neg(%y); return %r;
  })",
        4, 8);
}

TEST_F(Control, WhatABodyGivesIsItsInputOrAConstant) {
  check(R"(graph "g" {
    %s: f32[2] = input; %x: f32[2] = input; %k: i64[1] = input; %n = Squeeze(%k) {axes = [0]};
    %y: f32[2], %z: f32[2], %all, %same = Loop(%n, _, %s, %x) {body = graph "b" {
      %i: i64[] = input; %go: bool[] = input; %a: f32[2] = input; %b: f32[2] = input; %one: f32[2] = const [1, 2];
      return %go, %b, %a, %one, %i;
    }, states = 2};
    %r = Neg(%y); return %r, %z, %all, %same;
  })",
        1, 6);
}

TEST_F(Control, RefusalsNameTheReason) {
  EXPECT_NE(refusal(R"(graph "g" {
    %y: f32[300,4] = input; %a: f32[4] = const [0, 0, 0, 0];
    %k: i64[1] = input; %n = Squeeze(%k) {axes = [0]}; %m: i64[] = const [1]; %most = Add(%n, %m);
    %r: f32[4], %all = Loop(%most, _, %a, %y) {body = graph "b" {
      %i: i64[] = input; %go: bool[] = input; %s: f32[4] = input; %y: f32[300,4] = input;
      %h: i64[] = const [300]; %j: i64[] = Add(%i, %h); %e: f32[4] = Gather(%y, %j) {axis = 0};
      %t: f32[4] = Add(%s, %e); return %go, %t, %t;
    }, states = 1};
    %o = Neg(%r); return %o, %all;
  })")
                .find("300"),
            std::string::npos);
}

}  // namespace
}  // namespace wootz::conformance
