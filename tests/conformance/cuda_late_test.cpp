// Networks whose extents are symbols, or are found by running: what folds away or has one shape in the ops' own cases.
// On the GPU where there is one, otherwise on the emulator; all steps must be computed there.
#include <gtest/gtest.h>

#include <random>

#include "backend/device.h"
#include "backends/cuda/emulator/emulator.h"
#include "base/tolerance.h"
#include "conformance/on_cuda.h"
#include "ops/cases.h"
#include "ops/interpreter.h"

namespace wootz::conformance {
namespace {

// Slow: without a GPU every kernel is compiled for the processor, one after the other.
class CudaLateSlow : public OnCuda {
 protected:
  // Each of these one after the other in one context; `extent` for symbols of inputs.
  void check(const std::string& text, int rounds, int64_t extent = 5, size_t on_host = 0) {
    const std::unique_ptr<Graph> original = parsed(text), rewritten = parsed(text);
    ASSERT_NE(original, nullptr);
    const auto inputs = [&] {
      std::vector<HostTensor> made;
      for (const Value* v : original->inputs()) {
        Dims dims;
        for (const Dim& d : v->shape()) dims.push_back(d.is_const() ? d.value() : extent);
        made.push_back(random_.random(v->dtype(), dims, 0, 1));
      }
      return made;
    };
    std::vector<HostTensor> given = inputs();
    RunOptions options;
    options.backend = "cuda";
    Result<PreparedRun> prepared = prepare_graph_on(*rewritten, given, options);
    ASSERT_TRUE(prepared.ok()) << prepared.status().to_string();
    for (int round = 0; round < rounds; ++round) {
      SCOPED_TRACE(fmt::format("round {}", round));
      const Result<std::vector<HostTensor>> want = run_graph(*original, given);
      ASSERT_TRUE(want.ok()) << want.status().to_string();
      const Result<RunResult> have = prepared->run();
      ASSERT_TRUE(have.ok()) << have.status().to_string();
      EXPECT_EQ(have->reference_steps.size(), on_host);
      for (size_t o = 0; o < want->size(); ++o) {
        const Difference d = compare_by_place(have->outputs[o], (*want)[o]);
        EXPECT_TRUE(within(d, tolerance_for((*want)[o].dtype(), 64))) << "output " << o << ": " << to_string(d);
      }
      given = inputs();
      ASSERT_TRUE(prepared->feed(given).ok());
    }
    if (emulator_) {
      EXPECT_EQ(cuda::emulator_faults(), "");
    }
  }

  std::string numbers(int count) {
    std::string text;
    const HostTensor values = random_.random(DType::kF32, {count});
    for (int i = 0; i < count; ++i) text += fmt::format("{}{:.3f}", i == 0 ? "" : ", ", values.get_f64(i));
    return text;
  }

  CaseList random_{seed_};
};

// By a value the branches are the host's, and the device goes on with what came out; by extents nothing is late.
TEST_F(CudaLateSlow, BranchesOfDifferentExtents) {
  check(R"(graph "g" {
    %c: bool[] = input; %x: f32[5,4] = input; %k: f32[] = const [3];
    %y = If(%c, %x, %x) {then_branch = graph "t" {
      %a: f32[5,4] = input; %r: f32[2,4] = Slice(%a) {starts = [1], ends = [3], axes = [0]}; return %r;
    }, else_branch = graph "e" {
      %b: f32[5,4] = input; %r: f32[10,4] = Concat(%b, %b) {axis = 0}; return %r;
    }};
    %m = Mul(%y, %k); %z = Transpose(%m) {perm = [1, 0]}; return %z;
  })",
        8, 5, 1);
  for (const int64_t extent : {3, 6})
    check(R"(graph "g" {
      sym N = input_dim %x 0;
      %x: f32[N,4] = input; %zero: i64[] = const [0]; %most: i64[] = const [4]; %k: f32[] = const [3];
      %s = Shape(%x); %n = Gather(%s, %zero) {axis = 0}; %c = Greater(%n, %most);
      %y = If(%c, %x, %x) {then_branch = graph "t" {
        %a: f32[N,4] = input; %r: f32[2,4] = Slice(%a) {starts = [1], ends = [3], axes = [0]}; return %r;
      }, else_branch = graph "e" {
        %b: f32[N,4] = input; %r: f32[N,4] = Neg(%b); return %r;
      }};
      %m = Mul(%y, %k); %z = Transpose(%m) {perm = [1, 0]}; return %z;
    })",
          2, extent, 1);
}

// As exporters of detectors write it: which boxes stay, and then those.
TEST_F(CudaLateSlow, BoxesThatStayAreGathered) {
  const long before = emulator_ ? cuda::emulator_counts().modules : 0;
  check(R"(graph "g" {
    %x: f32[1,60,4] = input; %s: f32[1,3,60] = input;
    %most: i64[] = const [7]; %iou: f32[] = const [0.3]; %least: f32[] = const [0.4];
    %w: f32[4] = const [0.5, 0.25, 1.5, 2.0];
    %b = Mul(%x, %w); %a = Abs(%b);
    %kept = NonMaxSuppression(%a, %s, %most, %iou, %least) {center_point_box = 1};
    %which = Slice(%kept) {starts = [2], ends = [3], axes = [1]};
    %class = Slice(%kept) {starts = [1], ends = [2], axes = [1]};
    %index = Squeeze(%which) {axes = [1]};
    %flat = Squeeze(%a) {axes = [0]};
    %boxes = Gather(%flat, %index) {axis = 0};
    %c = Cast(%class) {to = "f32"};
    %rows = Concat(%boxes, %c) {axis = 1};
    %y = Sigmoid(%rows);
    return %kept, %y;
  })",
        6);
  // Six counts, but the sources differ in numbers only: few kernels behind the first inference.
  if (emulator_) {
    EXPECT_LE(cuda::emulator_counts().modules - before, 30);
  }
}

TEST_F(CudaLateSlow, IndicesOfWhatIsNotZero) {
  check(R"(graph "g" {
    %x: f32[6,70] = input; %zero: f32[] = const [0.8];
    %m = Greater(%x, %zero); %at = NonZero(%m); %t = Transpose(%at) {perm = [1, 0]};
    %values = GatherND(%x, %t); %k: f32[] = const [4096]; %y = Mul(%values, %k);
    %sum = Reduce(%y) {kind = "sum", axes = [0], keepdims = 1};
    return %at, %y, %sum;
  })",
        5);
}

TEST_F(CudaLateSlow, ManyElementsAreCountedByManyBlocks) {
  check(R"(graph "g" { %x: f32[3,4100] = input; %m = Relu(%x); %at = NonZero(%m); return %at; })", 2);
  check(R"(graph "g" { %x: f32[3,5,7] = input; %c: bool[5] = input; %y = Compress(%x, %c) {axis = 1};
           %z = Neg(%y); return %y, %z; })",
        4);
  check(R"(graph "g" { %x: f16[9,600] = input; %c: bool[5000] = input; %y = Compress(%x, %c); return %y; })", 2);
}

TEST_F(CudaLateSlow, DifferentValuesAndSlices) {
  const long before = emulator_ ? cuda::emulator_counts().modules : 0;
  check(R"(graph "g" {
    %x: f32[70] = input; %r = Round(%x);
    %y, %first, %way, %count = Unique(%r); %back = Gather(%y, %way) {axis = 0};
    %z = Neg(%y); %c = Cast(%count) {to = "f32"}; %m = Mul(%z, %c);
    return %y, %first, %way, %count, %back, %m;
  })",
        5);
  // One machine code sorts runs of every length.
  if (emulator_) {
    EXPECT_LE(cuda::emulator_counts().modules - before, 30);
  }
  check(R"(graph "g" {
    %x: f32[3,50,1] = input; %r = Round(%x); %y, %first, %way, %count = Unique(%r) {axis = 1, sorted = 0};
    %z = Abs(%y); return %y, %first, %way, %count, %z;
  })",
        3);
  check(R"(graph "g" { %x: f32[20000] = input; %y, %first, %way = Unique(%x) {sorted = 0}; return %y, %first, %way; })",
        2);
}

// As indexing of several tensors by one mask is exported: the same indices, looked for each time.
TEST_F(CudaLateSlow, OneMaskForSeveralTensors) {
  check(R"(graph "g" {
    %x: f32[50,3] = input; %s: f32[50] = input; %half: f32[] = const [0.5];
    %m = Greater(%s, %half);
    %a = NonZero(%m); %ta = Transpose(%a) {perm = [1, 0]}; %rows = GatherND(%x, %ta);
    %b = NonZero(%m); %tb = Transpose(%b) {perm = [1, 0]}; %best = GatherND(%s, %tb);
    %column = Unsqueeze(%best) {axes = [1]}; %y = Mul(%rows, %column);
    return %y;
  })",
        3);
}

// Extents are symbols: what is known while building in the ops' cases is not here.
TEST_F(CudaLateSlow, ShapesThatFollowFromTheInput) {
  check(R"(graph "g" {
    sym B = input_dim %x 0; sym S = input_dim %x 1; %x: f32[B,S,4] = input; %zero: i64[] = const [0]; %one: i64[] = const [1]; %ones: i64[1] = const [1];
    %shape = Shape(%x); %n = Gather(%shape, %one) {axis = 0}; %at = Range(%zero, %n, %one);
    %first = Gather(%shape, %zero) {axis = 0}; %f = Unsqueeze(%first) {axes = [0]}; %l = Unsqueeze(%n) {axes = [0]};
    %dims = Concat(%f, %l) {axis = 0};
    %fill = ConstantOfShape(%dims) {value = const f32[1] [2.5]}; %nothing = ConstantOfShape(%dims) {value = const i64[1] [-3]};
    %last = Slice(%x) {starts = [-1], ends = [9223372036854775807], axes = [1]};
    %back = Slice(%x) {starts = [-1], ends = [-9223372036854775807], axes = [1], steps = [-1]};
    %p = Cast(%at) {to = "f32"}; %q = Unsqueeze(%fill) {axes = [2]}; %y = Mul(%back, %q); %r = Add(%fill, %p);
    return %last, %y, %r, %nothing;
  })",
        2);
  // As many of the best as there are, at most four; padding by half of the extent.
  check(R"(graph "g" {
    sym N = input_dim %x 0; %x: f32[N,6] = input; %zero: i64[] = const [0]; %shape = Shape(%x); %n = Gather(%shape, %zero) {axis = 0};
    %most: i64[] = const [4]; %few = Min(%n, %most); %k = Unsqueeze(%few) {axes = [0]};
    %v, %i = TopK(%x, %k) {axis = 0};
    %none: i64[3] = const [0, 0, 0]; %l = Unsqueeze(%n) {axes = [0]}; %pads = Concat(%none, %l) {axis = 0};
    %wide = Pad(%x, %pads) {mode = "constant", value = 0.5};
    return %v, %i, %wide;
  })",
        2);
}

TEST_F(CudaLateSlow, PaddingThatFollowsFromExtents) {
  check(R"(graph "g" {
    sym H = input_dim %x 2; sym W = input_dim %x 3; %x: f32[1,3,H,W] = input; %w: f32[2,3,3,3] = const [)" +
            numbers(54) + R"(];
    %c = Conv(%x, %w) {auto_pad = "SAME_UPPER", strides = [2, 2]}; %r = Relu(%c);
    %p = Pool(%r) {kind = "max", kernel = [2, 2], strides = [2, 2], auto_pad = "SAME_LOWER"};
    %a = Pool(%r) {kind = "avg", kernel = [3, 3], strides = [2, 2], auto_pad = "SAME_UPPER"};
    return %p, %a;
  })",
        1, 9);
}

TEST_F(CudaLateSlow, LoopsThatEndByAValueAreToldAndRunOnTheHost) {
  check(R"(graph "g" {
    %s: f32[3] = input; %n: i64[1] = input; %x = Exp(%s); %trips: i64[] = const [6];
    %z: i64[] = Squeeze(%n) {axes = [0]}; %some = Add(%z, %trips);
    %y: f32[3] = Loop(%some, _, %x) {body = graph "b" {
      %i: i64[] = input; %go: bool[] = input; %a: f32[3] = input; %d: f32[3] = Add(%a, %a); return %go, %d;
    }, states = 1};
    %r = Neg(%y); return %r;
  })",
        2, 5, 1);
}

}  // namespace
}  // namespace wootz::conformance
