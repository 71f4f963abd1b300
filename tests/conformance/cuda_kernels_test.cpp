// Every kernel that the backend cuda offers for a step, not only the one that would be chosen, against the reference: on
// the GPU where there is one, otherwise on the stand-in.
#if defined(WOOTZ_HAVE_CUDA)
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "api/build.h"
#include "backend/device.h"
#include "backends/cuda/stand_in/stand_in.h"
#include "ir/text.h"
#include "ops/cases.h"
#include "ops/infer.h"
#include "ops/registry.h"

namespace wootz::conformance {
namespace {

// Slow: without a GPU every kernel is compiled for the processor.
class KernelsSlow : public ::testing::Test {
 protected:
  void SetUp() override {
    const Result<const Backend*> backend = find_backend("cuda");
    ASSERT_TRUE(backend.ok());
    if (!(*backend)->open(nullptr).ok()) ASSERT_TRUE(cuda::use_stand_in().ok());
    seed_ = std::random_device{}();
    std::printf("seed %llu\n", static_cast<unsigned long long>(seed_));
    rng_.seed(seed_);
  }

  int64_t pick(std::initializer_list<int64_t> values) { return values.begin()[rng_() % values.size()]; }
  std::string numbers(int64_t count) {
    std::normal_distribution<float> normal(0, 0.5f);
    std::string text;
    for (int64_t i = 0; i < count; ++i) text += fmt::format("{}{:.3f}", i == 0 ? "" : ", ", normal(rng_));
    return text;
  }

  // Builds with every candidate measured and compared; remembers which kernels were.
  void check(const std::string& text) {
    SCOPED_TRACE(text.substr(0, 600));
    Result<std::unique_ptr<Graph>> graph = parse_graph(text, find_op);
    ASSERT_TRUE(graph.ok()) << graph.status().to_string();
    ASSERT_TRUE(infer_graph(**graph).ok());
    api::BuildOptions options;
    options.backend = "cuda";
    options.level = 1;
    options.tf32 = false;
    const Result<api::BuildOutput> built = api::build_program(**graph, options);
    ASSERT_TRUE(built.ok()) << built.status().to_string();
    for (const StepReport& step : built->report.choice.steps)
      for (const Considered& c : step.considered) {
        EXPECT_EQ(c.refusal, "") << step.step << ": " << c.candidate.tactic.to_string();
        if (c.measured) seen_.insert(c.candidate.tactic.kernel);
      }
    EXPECT_EQ(cuda::stand_in_faults(), "");
  }
  void expect_seen(std::initializer_list<const char*> names) {
    for (const char* name : names) EXPECT_TRUE(seen_.count(name) != 0) << name << " was never compared";
  }

  uint64_t seed_ = 0;
  std::mt19937_64 rng_;
  std::set<std::string> seen_;
};

const char* const kTypes[] = {"f32", "f16", "bf16"};

TEST_F(KernelsSlow, DepthwiseConvolutions) {
  for (const char* type : kTypes)
    for (int round = 0; round < 3; ++round) {
      const int64_t c = pick({8, 24, 40}), k = pick({3, 5}), s = pick({1, 2}), d = s == 1 ? pick({1, 2}) : 1;
      const int64_t h = pick({9, 14}), w = pick({10, 17}), before = k / 2 * d, behind = pick({0, 1}) + before - 1;
      const int64_t oh = (h + before + behind - d * (k - 1) - 1) / s + 1,
                    ow = (w + before + behind - d * (k - 1) - 1) / s + 1, n = pick({1, 2});
      const bool residual = round == 1;
      check(fmt::format(
          "graph \"g\" {{ %x: {0}[{1},{2},{3},{4}] = input; {5} %w: {0}[{2},1,{6},{6}] = const [{7}]; %b: {0}[{2}] = "
          "const [{8}]; %y: {0}[{1},{2},{9},{10}] = Conv(%x, %w, %b) {{groups = {2}, strides = [{11}, {11}], dilations = "
          "[{12}, {12}], pads = [{13}, {13}, {14}, {14}]}}; %s: {0}[{1},{2},{9},{10}] = Sigmoid(%y); %m: "
          "{0}[{1},{2},{9},{10}] = Mul(%y, %s); {15} return {16}; }}",
          type, n, c, h, w, residual ? fmt::format("%r: {}[{},{},{},{}] = input;", type, n, c, oh, ow) : "", k,
          numbers(c * k * k), numbers(c), oh, ow, s, d, before, behind,
          residual ? fmt::format("%z: {}[{},{},{},{}] = Add(%m, %r);", type, n, c, oh, ow) : "",
          residual ? "%z" : "%m"));
    }
  expect_seen({"conv_generated_depthwise1", "conv_generated_depthwise2", "conv_generated_depthwise4",
               "conv_generated_depthwise8"});
}

TEST_F(KernelsSlow, SqueezeExcite) {
  for (const char* type : kTypes) {
    const int64_t c = pick({16, 24, 96}), r = pick({2, 6, 8}), h = pick({5, 33}), w = pick({7, 40}), n = pick({1, 3});
    check(fmt::format(
        "graph \"g\" {{ %x: {0}[{1},{2},{3},{4}] = input; %v: {0}[{5},{2},1,1] = const [{6}]; %a: {0}[{5}] = const "
        "[{7}]; %u: {0}[{2},{5},1,1] = const [{8}]; %b: {0}[{2}] = const [{9}]; %p: {0}[{1},{2},1,1] = "
        "Pool(%x) {{kind = \"avg\", global = 1}}; %q: {0}[{1},{5},1,1] = Conv(%p, %v, %a); %s: {0}[{1},{5},1,1] = Relu(%q); %t: "
        "{0}[{1},{2},1,1] = Conv(%s, %u, %b); %g: {0}[{1},{2},1,1] = Sigmoid(%t); %y: {0}[{1},{2},{3},{4}] = Mul(%x, "
        "%g); return %y; }}",
        type, n, c, h, w, r, numbers(c * r), numbers(r), numbers(c * r), numbers(c)));
  }
  expect_seen({"conv_generated_vector", "pool_generated"});
}

TEST_F(KernelsSlow, Pools) {
  for (const char* type : kTypes)
    for (const char* kind : {"max", "avg"})
      for (int round = 0; round < 2; ++round) {
        const int64_t c = pick({8, 32}), k = pick({2, 3, 5}), s = pick({1, 2}), h = pick({8, 13}), w = pick({9, 22}),
                      before = k / 2, o = pick({0, 1}), oh = (h + 2 * before - k) / s + 1, ow = (w + 2 * before - k) / s + 1;
        check(fmt::format(
            "graph \"g\" {{ %x: {0}[2,{1},{2},{3}] = input; %y: {0}[2,{1},{4},{5}] = Pool(%x) {{kind = \"{6}\", kernel = [{7}, {7}], "
            "strides = [{8}, {8}], pads = [{9}, {9}, {9}, {9}]{10}}}; return %y; }}",
            type, c, h, w, oh, ow, kind, k, s, before,
            kind[0] == 'a' ? fmt::format(", count_include_pad = {}", o) : std::string()));
      }
  expect_seen({"pool_generated_strip", "pool_generated"});
}

TEST_F(KernelsSlow, ReductionsOverPixels) {
  for (const char* type : kTypes)
    for (const char* kind : {"mean", "max", "sum", "l2"}) {
      const int64_t c = pick({8, 48}), h = pick({3, 70}), w = pick({5, 65});
      check(fmt::format("graph \"g\" {{ %x: {0}[2,{1},{2},{3}] = input; %y: {0}[2,{1},1,1] = Reduce(%x) {{kind = \"{4}\", axes = [2, "
                        "3], keepdims = 1}}; return %y; }}",
                        type, c, h, w, kind));
    }
  expect_seen({"reduce_generated"});
}

TEST_F(KernelsSlow, CopiesAndUpsampling) {
  for (const char* type : kTypes) {
    const int64_t a = pick({8, 24}), b = pick({8, 13}), h = pick({4, 21}), w = pick({6, 35});
    check(fmt::format("graph \"g\" {{ %x: {0}[1,{1},{3},{4}] = input; %z: {0}[1,{2},{3},{4}] = input; %y: "
                      "{0}[1,{5},{3},{4}] = Concat(%x, %z) {{axis = 1}}; return %y; }}",
                      type, a, b, h, w, a + b));
    check(fmt::format("graph \"g\" {{ %x: {0}[2,{1},{2},{3}] = input; %y: {0}[2,{2},{3},{1}] = Transpose(%x) {{perm = [0, "
                      "2, 3, 1]}}; return %y; }}",
                      type, a + 16, h + 16, w));
    check(fmt::format("graph \"g\" {{ %x: {0}[1,{1},{2},{3}] = input; %y: {0}[1,{1},{4},{5}] = Resize(%x) {{mode = "
                      "\"nearest\", coordinate_transformation_mode = \"asymmetric\", nearest_mode = \"floor\", scales = [1.0, 1.0, 2.0, 2.0]}}; "
                      "return %y; }}",
                      type, a, h, w, 2 * h, 2 * w));
  }
  expect_seen({"move_generated", "resize_generated"});
}

}  // namespace
}  // namespace wootz::conformance
#endif
