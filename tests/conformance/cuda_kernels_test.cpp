// Every kernel that the backend cuda offers for a step, not only the one that would be chosen, against the reference:
// on the GPU where there is one, otherwise on the emulator.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "backend/device.h"
#include "backends/cuda/emulator/emulator.h"
#include "build/build.h"
#include "conformance/on_cuda.h"
#include "ops/cases.h"
#include "ops/infer.h"

namespace wootz::conformance {
namespace {

// Slow: without a GPU every kernel is compiled for the processor.
class KernelsSlow : public OnCuda {
 protected:
  int64_t pick(std::initializer_list<int64_t> values) { return values.begin()[rng_() % values.size()]; }
  std::string numbers(int64_t count) {
    std::normal_distribution<float> normal(0, 0.5f);
    std::string text;
    for (int64_t i = 0; i < count; ++i) text += fmt::format("{}{:.3f}", i == 0 ? "" : ", ", normal(rng_));
    return text;
  }

  std::string bytes(int64_t count) {
    std::string text;
    for (int64_t i = 0; i < count; ++i)
      text += fmt::format("{}{}", i == 0 ? "" : ", ", static_cast<int>(rng_() % 255) - 127);
    return text;
  }
  std::string scales(int64_t count) {
    std::string text;
    for (int64_t i = 0; i < count; ++i)
      text += fmt::format("{}{:.5f}", i == 0 ? "" : ", ", 0.0005 + 1e-5 * static_cast<double>(rng_() % 100));
    return text;
  }

  // Builds with every candidate measured and compared; remembers which kernels were.
  void check(const std::string& text) {
    SCOPED_TRACE(text.substr(0, 600));
    Result<std::unique_ptr<Graph>> graph = parse_graph(text, find_op);
    ASSERT_TRUE(graph.ok()) << graph.status().to_string();
    ASSERT_TRUE(infer_graph(**graph).ok());
    BuildSettings options;
    options.backend = "cuda";
    options.level = 1;
    options.tf32 = false;
    const Result<BuildOutput> built = build_program(**graph, options);
    ASSERT_TRUE(built.ok()) << built.status().to_string();
    for (const StepReport& step : built->report.choice.steps)
      for (const EvaluatedCandidate& c : step.evaluated) {
        EXPECT_EQ(c.refusal, "") << step.step << ": " << c.candidate.tactic.to_string();
        if (c.measured) seen_.insert(c.candidate.tactic.kernel);
      }
    EXPECT_EQ(cuda::emulator_faults(), "");
  }
  void expect_seen(std::initializer_list<const char*> names) {
    for (const char* name : names) EXPECT_TRUE(seen_.count(name) != 0) << name << " was never compared";
  }

  std::mt19937_64 rng_{seed_};
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
          "const [{8}]; %y: {0}[{1},{2},{9},{10}] = Conv(%x, %w, %b) {{groups = {2}, strides = [{11}, {11}], dilations "
          "= "
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

// Small sums, so that every tile is about as good as the others and is offered.
TEST_F(KernelsSlow, ConvolutionsOfBytes) {
  for (int round = 0; round < (emulator_ ? 3 : 16); ++round) {
    const bool is_signed = rng_() % 2 != 0, to_bytes = rng_() % 2 != 0, residual = rng_() % 2 != 0;
    const char* type = is_signed ? "i8" : "u8";
    const int64_t zero = is_signed ? pick({0, 0, -128, 5}) : pick({0, 3, 128}), c = pick({16, 32, 48, 64, 3, 20}),
                  m = pick({8, 24, 64, 70, 130}), k = pick({1, 1, 3}), s = pick({1, 1, 2}),
                  pad = k == 1 ? 0 : pick({0, 1}), h = pick({5, 9, 12}), w = pick({7, 14}), n = pick({1, 2, 3}),
                  oh = (h + 2 * pad - k) / s + 1, ow = (w + 2 * pad - k) / s + 1;
    const std::string y = fmt::format("[{},{},{},{}]", n, m, oh, ow);
    std::string text = fmt::format(
        "graph \"g\" {{ %x: {0}[{1},{2},{3},{4}] = input; %w: i8[{5},{2},{6},{6}] = const [{7}]; %b: f32[{5}] = const "
        "[{8}]; "
        "%y: f32{9} = Conv(%x, %w, %b) {{strides = [{10}, {10}], pads = [{11}, {11}, {11}, {11}], x_scale = [0.021], "
        "x_zero = "
        "[{12}.0], w_scale = [{13}]}}; ",
        type, n, c, h, w, m, k, bytes(m * c * k * k), numbers(m), y, s, pad, zero, scales(rng_() % 2 != 0 ? m : 1));
    std::string last = "%y";
    if (residual) {
      text += fmt::format(
          "%r: i8{0} = input; %rs: f32[] = const [0.017]; %d: f32{0} = Dequantize(%r, %rs); %a: f32{0} = "
          "Add(%y, %d); %z: f32{0} = Relu(%a); ",
          y);
      last = "%z";
    }
    if (to_bytes) {
      text += fmt::format(
          "%qs: f32[] = const [0.043]; %qz: {0}[] = const [{1}]; %q: {0}{2} = Quantize({3}, %qs, %qz) {{to = "
          "\"{0}\"}}; ",
          type, is_signed ? 0 : 117, y, last);
      last = "%q";
    }
    check(text + "return " + last + "; }");
  }
  expect_seen({"conv_generated_bytes_128x128", "conv_generated_bytes_128x64", "conv_generated_bytes_64x64",
               "conv_generated_bytes_64x64k2", "conv_generated_bytes_32x64k4", "conv_generated_bytes_32x32k4"});
}

TEST_F(KernelsSlow, ProductsOfBytes) {
  for (int round = 0; round < (emulator_ ? 3 : 12); ++round) {
    const bool is_signed = rng_() % 2 != 0, two = round % 3 == 0, turned = two || rng_() % 2 != 0;
    const char* type = is_signed || two ? "i8" : "u8";
    const int64_t zero = two         ? 0
                         : is_signed ? pick({0, -7})
                                     : pick({0, 128}),
                  k = two ? pick({16, 64, 80}) : pick({16, 64, 100, 130}), n = pick({8, 50, 96, 131}),
                  m = pick({1, 17, 70}), b = pick({1, 2, 3});
    const std::string y = fmt::format("[{},{},{}]", b, m, n);
    std::string text = fmt::format("graph \"g\" {{ %x: {}[{},{},{}] = input; ", type, b, m, k);
    text += two ? fmt::format("%w: i8[{},{},{}] = input; ", b, n, k)
                : fmt::format("%w: i8[{},{}] = const [{}]; ", turned ? n : k, turned ? k : n, bytes(n * k));
    text += fmt::format(
        "%b: f32[{}] = const [{}]; %y: f32{} = MatMul(%x, %w, %b) {{trans_b = {}, x_scale = [0.013], x_zero = "
        "[{}.0], w_scale = [{}]}}; %g: f32{} = Gelu(%y); ",
        n, numbers(n), y, turned ? 1 : 0, zero, scales(two ? 1 : n), y);
    check(text + "return %g; }");
  }
  expect_seen({"gemm_generated_bytes_128x128", "gemm_generated_bytes_128x64", "gemm_generated_bytes_64x64",
               "gemm_generated_bytes_64x64k2", "gemm_generated_bytes_32x64k4", "gemm_generated_bytes_32x32k4"});
}

TEST_F(KernelsSlow, DepthwiseConvolutionsAndPoolsOfBytes) {
  for (const char* type : {"u8", "i8"}) {
    const int64_t c = type[0] == 'u' ? 32 : 8, h = pick({6, 9}), w = pick({7, 16});
    check(fmt::format(
        "graph \"g\" {{ %x: {0}[2,{1},{2},{3}] = input; %w: i8[{1},1,3,3] = const [{4}]; %y: f32[2,{1},{2},{3}] = "
        "Conv(%x, %w) {{groups = {1}, pads = [1, 1, 1, 1], x_scale = [0.02], x_zero = [4.0], w_scale = [{5}]}}; "
        "%z: f32[2,{1},{2},{3}] = Relu(%y); return %z; }}",
        type, c, h, w, bytes(c * 9), scales(c)));
    check(fmt::format(
        "graph \"g\" {{ %x: {0}[2,{1},{2},{3}] = input; %y: {0}[2,{1},{2},{3}] = Pool(%x) {{kind = \"max\", kernel "
        "= [3, 3], strides = [1, 1], pads = [1, 1, 1, 1]}}; return %y; }}",
        type, c, h, w));
    check(fmt::format(
        "graph \"g\" {{ %x: {0}[2,{1},{2},{3}] = input; %y: f32[2,{1},1,1] = Pool(%x) {{kind = \"avg\", global = "
        "1, x_scale = [0.02], x_zero = [3.0]}}; return %y; }}",
        type, c, h, w));
  }
  expect_seen({"conv_generated_direct", "pool_generated_strip", "pool_generated"});
}

TEST_F(KernelsSlow, SqueezeExcite) {
  for (const char* type : kTypes) {
    const int64_t c = pick({16, 24, 96}), r = pick({2, 6, 8}), h = pick({5, 33}), w = pick({7, 40}), n = pick({1, 3});
    check(fmt::format(
        "graph \"g\" {{ %x: {0}[{1},{2},{3},{4}] = input; %v: {0}[{5},{2},1,1] = const [{6}]; %a: {0}[{5}] = const "
        "[{7}]; %u: {0}[{2},{5},1,1] = const [{8}]; %b: {0}[{2}] = const [{9}]; %p: {0}[{1},{2},1,1] = "
        "Pool(%x) {{kind = \"avg\", global = 1}}; %q: {0}[{1},{5},1,1] = Conv(%p, %v, %a); %s: {0}[{1},{5},1,1] = "
        "Relu(%q); %t: "
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
                      before = k / 2, o = pick({0, 1}), oh = (h + 2 * before - k) / s + 1,
                      ow = (w + 2 * before - k) / s + 1;
        check(
            fmt::format("graph \"g\" {{ %x: {0}[2,{1},{2},{3}] = input; %y: {0}[2,{1},{4},{5}] = Pool(%x) {{kind = "
                        "\"{6}\", kernel = [{7}, {7}], "
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
      check(fmt::format(
          "graph \"g\" {{ %x: {0}[2,{1},{2},{3}] = input; %y: {0}[2,{1},1,1] = Reduce(%x) {{kind = \"{4}\", axes = [2, "
          "3], keepdims = 1}}; return %y; }}",
          type, c, h, w, kind));
    }
  expect_seen({"reduce_generated"});
}

TEST_F(KernelsSlow, CopiesAndUpsampling) {
  for (const char* type : kTypes) {
    const int64_t a = pick({8, 24}), b = pick({8, 13}), h = pick({4, 21}), w = pick({6, 35});
    check(
        fmt::format("graph \"g\" {{ %x: {0}[1,{1},{3},{4}] = input; %z: {0}[1,{2},{3},{4}] = input; %y: "
                    "{0}[1,{5},{3},{4}] = Concat(%x, %z) {{axis = 1}}; return %y; }}",
                    type, a, b, h, w, a + b));
    check(fmt::format(
        "graph \"g\" {{ %x: {0}[2,{1},{2},{3}] = input; %y: {0}[2,{2},{3},{1}] = Transpose(%x) {{perm = [0, "
        "2, 3, 1]}}; return %y; }}",
        type, a + 16, h + 16, w));
    check(
        fmt::format("graph \"g\" {{ %x: {0}[1,{1},{2},{3}] = input; %y: {0}[1,{1},{4},{5}] = Resize(%x) {{mode = "
                    "\"nearest\", coordinate_transformation_mode = \"asymmetric\", nearest_mode = \"floor\", scales = "
                    "[1.0, 1.0, 2.0, 2.0]}}; "
                    "return %y; }}",
                    type, a, h, w, 2 * h, 2 * w));
  }
  expect_seen({"move_generated", "resize_generated"});
}

TEST_F(KernelsSlow, NarrowTypes) {
  for (const char* type : {"i4", "u4", "i2", "u2", "f4e2m1", "f8e4m3", "f8e5m2", "f8e4m3fnuz", "f8e5m2fnuz"}) {
    const int64_t rows = pick({3, 8}), blocks = pick({1, 4}), size = pick({7, 16, 34, 64});
    const std::string shape = fmt::format("[{},{},{}]", rows, blocks, size);
    std::string steps;
    for (int64_t i = 0; i < rows * blocks; ++i)
      steps += fmt::format("{}{:.4f}", i == 0 ? "" : ", ", 0.07 + 0.01 * static_cast<double>(rng_() % 60));
    check(fmt::format(
        "graph \"g\" {{ %x: f32{0} = input; %s: f32[{1},{2},1] = const [{3}]; %q: {4}{0} = Quantize(%x, %s) {{to = "
        "\"{4}\"}}; return %q; }}",
        shape, rows, blocks, steps, type));
    check(fmt::format(
        "graph \"g\" {{ %q: {4}{0} = input; %s: f16[{1},{2},1] = const [{3}]; %d: f16{0} = Dequantize(%q, %s); %y: "
        "f16{0} = Relu(%d); return %y; }}",
        shape, rows, blocks, steps, type));
    check(
        fmt::format("graph \"g\" {{ %q: {0}{1} = input; %t: {0}[{2},{3},{4}] = Transpose(%q) {{perm = [1, 0, 2]}}; %u: "
                    "{0}[{2},{3},3] "
                    "= Slice(%t) {{starts = [{5}], ends = [{6}], axes = [2]}}; return %t, %u; }}",
                    type, shape, blocks, rows, size, size / 2, size / 2 + 3));
  }
  expect_seen({"pointwise_generated", "move_generated"});
}

}  // namespace
}  // namespace wootz::conformance
