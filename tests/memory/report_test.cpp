// How little memory networks take: their activations, the bound that no plan can beat, and what is planned.
#include <gtest/gtest.h>

#include "base/json.h"
#include "base/testing.h"
#include "memory/built.h"
#include "scaling/networks.h"

namespace wootz::memory_test {
namespace {

// The blocks of ResNet, BERT, EfficientNet and MobileNet, and YOLO.
class Blocks : public ::testing::TestWithParam<const char*> {};

TEST_P(Blocks, TakeAThirdOfTheirActivations) {
  std::shared_ptr<Graph> graph;
  for (const scaling::NetworkKind& kind : scaling::network_kinds())
    if (std::string(kind.name) == GetParam()) graph = kind.make(120);
  ASSERT_NE(graph, nullptr);
  const KeptLog log;
  BuildServices services;
  services.log = &log;
  const Result<Built> built = build(*graph, {}, services);
  ASSERT_TRUE(built.ok()) << built.status().to_string();
  const Result<MemoryReport> report = built->engine->memory_report(0);
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  std::printf("%-12s %zu bytes of activations, bound %zu, arena %zu (%.1f %% saved), workspace %zu, weights %zu\n",
              GetParam(), report->activations, report->lower_bound, report->arena, 100 * report->saved(),
              report->workspace, report->persistent);
  EXPECT_GE(report->saved(), 0.62);
  EXPECT_LE(static_cast<double>(report->arena), 1.05 * static_cast<double>(report->lower_bound));
  EXPECT_GE(report->arena, report->lower_bound);
  EXPECT_GT(report->persistent, 0u);

  // What each piece is for adds up, and no two overlap while both are needed.
  size_t most = 0;
  for (const size_t bytes : report->alive) most = std::max(most, bytes);
  EXPECT_EQ(most, report->lower_bound);
  EXPECT_EQ(report->alive.size(), built->program->steps.size());
  for (const auto& a : report->buffers) {
    EXPECT_LE(a.offset + a.life.bytes, report->arena);
    for (const auto& b : report->buffers) {
      if (&a == &b || a.life.bytes == 0 || b.life.bytes == 0) continue;
      const bool at_once = a.life.first <= b.life.last && b.life.first <= a.life.last;
      EXPECT_TRUE(!at_once || a.offset + a.life.bytes <= b.offset || b.offset + b.life.bytes <= a.offset)
          << a.tensor << " and " << b.tensor;
    }
  }

  // The build said so, before and after choosing; nothing turned out larger than was said before.
  ASSERT_EQ(built->report.estimated_memory.size(), 1u);
  EXPECT_TRUE(built->report.estimated_memory[0].estimated);
  ASSERT_EQ(built->report.memory.size(), 1u);
  EXPECT_EQ(built->report.memory[0].arena, report->arena);
  EXPECT_GE(built->report.estimated_memory[0].arena * 21 / 20, report->arena);
  std::vector<std::string> lines = log.lines(LogLevel::kInfo);
  std::erase_if(lines, [](const std::string& line) { return line.rfind("Memory", 0) != 0; });
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].rfind("Memory, before tactics are chosen: ", 0), 0u) << lines[0];
  EXPECT_EQ(lines[1].rfind("Memory: ", 0), 0u) << lines[1];
  const auto json = build_report(built->report, *built->program);
  EXPECT_EQ(json["memory"][0]["ArenaBytes"], report->arena);
  EXPECT_EQ(json["estimated_memory"][0]["Estimated"], true);

  // A context takes that much, and not more.
  Bindings bindings(built->engine);
  ASSERT_TRUE(bindings.resolve_shapes().ok());
  EXPECT_EQ(bindings.plan()->arena_bytes, report->arena);
  EXPECT_LE(bindings.plan()->total_bytes(), report->per_context());
}

INSTANTIATE_TEST_SUITE_P(Of, Blocks, ::testing::Values("residual", "transformer", "mbconv", "c2f"),
                         [](const auto& info) { return std::string(info.param); });

TEST(MemoryReport, FollowsTheShapes) {
  auto graph = parse(R"(graph "g" {
    sym N = input_dim %x 0;
    %x: f32[N,16] = input;
    %a = Softmax(%x) {axis = 1}; %b = Softmax(%a) {axis = 1}; %c = Softmax(%b) {axis = 1};
    return %c;
  })");
  ASSERT_TRUE(graph.ok());
  BuildSettings options;
  options.profiles.resize(2);
  options.profiles[0].dims["x"] = {{1, 16}, {2, 16}, {4, 16}};
  options.profiles[1].dims["x"] = {{1, 16}, {8, 16}, {64, 16}};
  const Result<Built> built = build(**graph, options);
  ASSERT_TRUE(built.ok()) << built.status().to_string();
  const auto small = built->engine->memory_report(0), large = built->engine->memory_report(1);
  ASSERT_TRUE(small.ok() && large.ok());
  EXPECT_EQ(large->activations, 16 * small->activations);
  const auto one = built->engine->memory_report(std::vector<int64_t>{1});
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one->activations * 4, small->activations);
  EXPECT_FALSE(built->engine->memory_report(2).ok());
}

}  // namespace
}  // namespace wootz::memory_test
