// What cuDNN is asked for, on a described H200: engines are listed, and plans of them can be built. Without the library
// these tests say so and are skipped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cuda/cudnn/plans.h"
#include "backends/cuda/jit/compiler.h"
#include "backends/cuda/targets/devices.h"
#include "base/tasks.h"

namespace wootz::cuda {
namespace {

using testing::ContainsRegex;

#define NEEDS(library) \
  if (const auto found = (library); !found.ok()) GTEST_SKIP() << found.status().to_string();

using List = std::vector<int64_t>;

List dense(const List& dims) {
  List strides(dims.size(), 1);
  for (size_t a = dims.size() - 1; a-- > 0;) strides[a] = strides[a + 1] * dims[a + 1];
  return strides;
}

List channels_last(const List& d) { return {d[1] * d[2] * d[3], 1, d[3] * d[1], d[1]}; }

struct Window {
  int64_t images, channels, size, filters, kernel, stride;
};

CudnnTensor image(bool output, int index, DType type, const List& dims) {
  return {output, index, type, dims, channels_last(dims), 0};
}

// y = w * x + bias, of images with their channels innermost.
CudnnGraph convolution(const Window& s, DType type, DType result, bool tf32 = false) {
  CudnnGraph g;
  const int64_t pad = s.kernel / 2, out = (s.size + 2 * pad - s.kernel) / s.stride + 1;
  g.tf32 = tf32;
  g.x = image(false, 0, type, {s.images, s.channels, s.size, s.size});
  g.w = image(false, 1, type, {s.filters, s.channels, s.kernel, s.kernel});
  g.y = image(true, 0, result, {s.images, s.filters, out, out});
  g.pre_pads = g.post_pads = {pad, pad};
  g.strides = {s.stride, s.stride};
  g.dilations = {1, 1};
  const DType row = type == DType::kI8 ? DType::kF32 : type;
  g.operands.push_back(image(false, 2, row, {1, s.filters, 1, 1}));
  g.stages.push_back({type == DType::kI8 ? PwOp::kMul : PwOp::kAdd, 0, 0, 0, -1});
  return g;
}

void add(CudnnGraph* g, PwOp op, double imm = 0) { g->stages.push_back({op, -1, imm, 0, -1}); }

void add_residual(CudnnGraph* g) {
  g->stages.push_back({PwOp::kAdd, static_cast<int>(g->operands.size()), 0, 0, -1});
  g->operands.push_back(image(false, 3, g->x.dtype, g->y.dims));
}

CudnnGraph attention(DType type, int64_t heads, int64_t kv_heads, int64_t queries, int64_t keys, int64_t size) {
  CudnnGraph g;
  g.attention = true;
  g.x = {false, 0, type, {2, heads, queries, size}, dense({2, heads, queries, size}), 0};
  g.w = {false, 1, type, {2, kv_heads, keys, size}, dense({2, kv_heads, keys, size}), 0};
  g.v = {false, 2, type, g.w.dims, g.w.strides, 0};
  g.y = {true, 0, type, g.x.dims, g.x.strides, 0};
  g.scale = 0.125;
  return g;
}

void add_mask(CudnnGraph* g) {
  const List dims{1, 1, g->x.dims[2], g->w.dims[2]};
  g->operands.push_back({false, 3, g->x.dtype, dims, dense(dims), 0});
  g->mask = 0;
}

struct Case {
  const char* name;
  CudnnGraph graph;
};

std::vector<Case> cases() {
  constexpr Window k3{1, 64, 56, 64, 3, 1}, k1{32, 256, 14, 1024, 1, 1}, stem{1, 3, 224, 64, 7, 2};
  std::vector<Case> all{{"f16 stem", convolution(stem, DType::kF16, DType::kF16)},
                        {"tf32 3x3", convolution(k3, DType::kF32, DType::kF32, true)},
                        {"f32 3x3", convolution(k3, DType::kF32, DType::kF32)},
                        {"bf16 1x1, residual, relu", convolution(k1, DType::kBF16, DType::kBF16)},
                        {"f16 3x3, silu", convolution(k3, DType::kF16, DType::kF16)},
                        {"i8 3x3, relu", convolution(k3, DType::kI8, DType::kF16)},
                        {"attention", attention(DType::kF16, 12, 12, 128, 128, 64)},
                        {"attention of fewer keys' heads", attention(DType::kBF16, 8, 2, 64, 96, 64)},
                        {"attention, mask", attention(DType::kF16, 12, 12, 128, 128, 64)},
                        {"attention, causal", attention(DType::kBF16, 8, 8, 64, 96, 32)}};
  add_residual(&all[3].graph);
  add(&all[3].graph, PwOp::kRelu);
  add(&all[4].graph, PwOp::kSilu, 1);
  add(&all[5].graph, PwOp::kRelu);
  add_mask(&all[8].graph);
  all[9].graph.causal = true;
  return all;
}

Result<DeviceDescription> h200() {
  for (const DeviceDescription& device : known_devices())
    if (device.alias == "h200") return device;
  return invalid_argument("no h200 in devices.def");
}

// Text that plans and timing caches hold, from engines that can be built; the same text gives that engine again.
TEST(CudnnChoices, AreListedAndBuilt) {
  NEEDS(compiler_version());
  NEEDS(cudnn_version());
  const Result<DeviceDescription> device = h200();
  ASSERT_TRUE(device.ok());
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const Result<std::vector<std::string>> choices = cudnn_choices(c.graph, *device, {8, 8});
    ASSERT_TRUE(choices.ok()) << choices.status().to_string();
    std::string line;
    for (const std::string& choice : *choices) {
      EXPECT_THAT(choice, ContainsRegex("^[0-9]+:([0-9]+=-?[0-9]+,)*$"));
      line += " " + choice;
    }
    std::printf("%s:%s\n", c.name, line.c_str());
    // Engines of these graphs differ by knobs: a list without any has lost them.
    EXPECT_NE(line.find('='), std::string::npos);
    const Result<NativeCode> built = cudnn_code(c.graph, choices->back(), *device);
    ASSERT_TRUE(built.ok()) << built.status().to_string();
    EXPECT_GT(built->bytes.size(), 100u);
    EXPECT_EQ(built->key.rfind("cudnn plan ", 0), 0u);
  }
}

// Several threads find what one does, and build it: graphs that nothing was asked of before, those of the same extents
// twice.
TEST(CudnnChoices, AreFoundByThreadsBesideEachOther) {
  NEEDS(compiler_version());
  NEEDS(cudnn_version());
  const Result<DeviceDescription> device = h200();
  ASSERT_TRUE(device.ok());
  constexpr size_t kGraphs = 4;
  const auto graph = [](size_t i, int64_t filters) {
    CudnnGraph g = convolution({1, 64, 20, filters, 3, 1}, DType::kF16, DType::kF16);
    if (i % 2 == 0) add(&g, PwOp::kSilu, 1);  // compiled at run time
    return g;
  };
  std::vector<Result<std::vector<std::string>>> found(2 * kGraphs, std::vector<std::string>());
  run_tasks(found.size(), 4, [&](size_t i) {
    found[i] = cudnn_choices(graph(i % kGraphs, 32 + 8 * static_cast<int64_t>(i % kGraphs)), *device, {3, 3});
  });
  for (size_t i = 0; i < found.size(); ++i) {
    SCOPED_TRACE(i);
    ASSERT_TRUE(found[i].ok()) << found[i].status().to_string();
    EXPECT_GE(found[i]->size(), 1U);
    EXPECT_LE(found[i]->size(), 3U);
    EXPECT_EQ(*found[i], *found[i % kGraphs]);
    EXPECT_TRUE(
        cudnn_code(graph(i % kGraphs, 32 + 8 * static_cast<int64_t>(i % kGraphs)), found[i]->back(), *device).ok());
  }
}

// Engines that compile are counted apart: those that are ready come in their place, where there are any.
TEST(CudnnChoices, FewerOfThoseThatCompile) {
  NEEDS(compiler_version());
  NEEDS(cudnn_version());
  const Result<DeviceDescription> device = h200();
  ASSERT_TRUE(device.ok());
  CudnnGraph g = convolution({1, 64, 24, 64, 3, 1}, DType::kF16, DType::kF16);
  const Result<std::vector<std::string>> ready = cudnn_choices(g, *device, {3, 0});
  ASSERT_TRUE(ready.ok()) << ready.status().to_string();
  EXPECT_EQ(ready->size(), 3U);
  add(&g, PwOp::kSilu, 1);  // no engine is ready
  const Result<std::vector<std::string>> all = cudnn_choices(g, *device, {8, 8});
  const Result<std::vector<std::string>> one = cudnn_choices(g, *device, {8, 1});
  ASSERT_TRUE(all.ok() && one.ok());
  ASSERT_GT(all->size(), 1U);
  EXPECT_EQ(*one, std::vector<std::string>{all->front()});
  EXPECT_FALSE(cudnn_choices(g, *device, {8, 0}).ok());
}

// What another version of the library wrote, or nobody, gives the library's own first choice.
TEST(CudnnChoices, OneThatIsNotTakenIsReplaced) {
  NEEDS(compiler_version());
  NEEDS(cudnn_version());
  const Result<DeviceDescription> device = h200();
  ASSERT_TRUE(device.ok());
  const CudnnGraph g = convolution({1, 64, 28, 64, 3, 1}, DType::kF16, DType::kF16);
  for (const char* choice : {"", "no choice", "99999:", "-1:1=2,", "7:12=", "7:12=123456,", "7:1000000000000=1,"}) {
    const Result<NativeCode> built = cudnn_code(g, choice, *device);
    EXPECT_TRUE(built.ok()) << "'" << choice << "': " << built.status().to_string();
  }
}

TEST(CudnnChoices, WhatItCannotDoIsRefusedBeforeItIsAsked) {
  NEEDS(cudnn_version());
  const Result<DeviceDescription> device = h200();
  ASSERT_TRUE(device.ok());
  const auto refused = [&](const CudnnGraph& g, const char* why) {
    const Result<std::vector<std::string>> choices = cudnn_choices(g, *device, {8, 8});
    ASSERT_FALSE(choices.ok()) << why;
    EXPECT_THAT(choices.status().message(), testing::HasSubstr(why));
  };
  refused(attention(DType::kF16, 4, 4, 16, 16, 20), "not of 16 bytes");
  refused(attention(DType::kF16, 5, 2, 16, 16, 64), "5 heads of queries for 2 of keys");
  CudnnGraph apart = attention(DType::kF16, 4, 4, 16, 16, 64);
  apart.w.strides = {4 * 16 * 64, 16 * 64, 1, 16};
  refused(apart, "elements of a row of the keys that lie apart");
  CudnnGraph clip = convolution({1, 8, 8, 8, 1, 1}, DType::kF16, DType::kF16);
  add(&clip, PwOp::kClip, 1);
  refused(clip, "a clip from 1");
}

}  // namespace
}  // namespace wootz::cuda
