#include "backend/plugin.h"

#include <gtest/gtest.h>

#include <random>

#include "backend/shape_program.h"
#include "base/testing.h"

namespace wootz {
namespace {

int64_t word(ExtentWord w) { return static_cast<int64_t>(w); }
int64_t op(ShapeOp o) { return static_cast<int64_t>(o); }

TEST(PluginExtents, AreEvaluated) {
  const std::vector<Dims> inputs{{7, 3}, {5}};
  const std::vector<int64_t> sizes{-1, 4};
  const auto value = [&](std::vector<int64_t> words) { return evaluate_extent(words, inputs, sizes); };
  const int64_t k = word(ExtentWord::kConst), e = word(ExtentWord::kExtent), s = word(ExtentWord::kSize),
                o = word(ExtentWord::kOperator);
  EXPECT_EQ(*value({k, 9}), 9);
  EXPECT_EQ(*value({e, 1}), 3);
  EXPECT_EQ(*value({e, limits::kMaxRank}), 5);
  EXPECT_EQ(*value({s, 1}), 4);
  const std::pair<ShapeOp, int64_t> kResults[] = {{ShapeOp::kAdd, 10},    {ShapeOp::kMul, 21}, {ShapeOp::kFloorDiv, 2},
                                                  {ShapeOp::kCeilDiv, 3}, {ShapeOp::kMod, 1},  {ShapeOp::kMin, 3},
                                                  {ShapeOp::kMax, 7}};
  for (const auto& [operation, want] : kResults) EXPECT_EQ(*value({e, 0, e, 1, o, op(operation)}), want) << want;
  EXPECT_EQ(*value({k, -7, k, 2, o, op(ShapeOp::kFloorDiv)}), -4);
  EXPECT_EQ(*value({k, -7, k, 2, o, op(ShapeOp::kCeilDiv)}), -3);
  EXPECT_EQ(*value({k, -7, k, 2, o, op(ShapeOp::kMod)}), 1);
}

TEST(PluginExtents, NonsenseIsAnError) {
  const std::vector<Dims> inputs{{7, 3}};
  const int64_t k = word(ExtentWord::kConst), e = word(ExtentWord::kExtent), s = word(ExtentWord::kSize),
                o = word(ExtentWord::kOperator);
  const std::vector<std::vector<int64_t>> kBad = {{},
                                                  {k},
                                                  {k, 1, k, 2},
                                                  {e, 2},
                                                  {e, -1},
                                                  {e, 100},
                                                  {s, 0},
                                                  {s, 1},
                                                  {s, -1},
                                                  {o, op(ShapeOp::kAdd)},
                                                  {k, 1, o, op(ShapeOp::kAdd)},
                                                  {k, 1, k, 0, o, op(ShapeOp::kFloorDiv)},
                                                  {k, INT64_MIN, k, -1, o, op(ShapeOp::kFloorDiv)},
                                                  {k, INT64_MAX, k, 2, o, op(ShapeOp::kMul)},
                                                  {k, 1, k, 1, o, 99},
                                                  {k, 1, k, 1, o, -1},
                                                  {99, 1}};
  for (const std::vector<int64_t>& words : kBad)
    EXPECT_FALSE(evaluate_extent(words, inputs, std::vector<int64_t>{-1}).ok()) << testing::PrintToString(words);
}

TEST(PluginText, ReadsBack) {
  std::mt19937_64 rng(test_seed());
  PluginParams params{"na\"me",        "1\\",        "",      "layer\n",   std::string("\0x", 2),
                      to_hex("bytes"), {{1, 2}, {}}, {-1, 0}, {{0, 1, 2}}, {{1, 0, 0, 5}, {1, 1, 0, 6}}};
  for (Ints& list : params.least)
    for (int64_t& v : list) v = static_cast<int64_t>(rng() >> 1);
  Problem problem;
  problem.inputs.resize(1);
  problem.outputs.resize(2);
  write_plugin(params, &problem);
  EXPECT_TRUE(is_plugin(problem));
  EXPECT_TRUE(problem.as<OpParams>().own_sizes);
  const Result<PluginParams> read = read_plugin(problem);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read->name, params.name);
  EXPECT_EQ(read->version, params.version);
  EXPECT_EQ(read->layer, params.layer);
  EXPECT_EQ(read->timing, params.timing);
  EXPECT_EQ(*from_hex(read->data), "bytes");
  EXPECT_EQ(read->least, params.least);
  EXPECT_EQ(read->aliases, params.aliases);
  EXPECT_EQ(read->bounds, params.bounds);
  EXPECT_EQ(read->extents, params.extents);
  // Cut anywhere, or with an alias of no operand, it is refused.
  const std::string text = problem.as<OpParams>().node;
  for (size_t cut = 0; cut < text.size(); ++cut) {
    problem.as<OpParams>().node = text.substr(0, cut);
    EXPECT_FALSE(read_plugin(problem).ok()) << cut;
  }
  params.aliases = {-1, 1};
  write_plugin(params, &problem);
  EXPECT_FALSE(read_plugin(problem).ok());
}

TEST(PluginText, OnlyHexadecimalDigitsAreData) {
  EXPECT_EQ(to_hex(std::string("\x00\xff\x10", 3)), "00ff10");
  EXPECT_EQ(*from_hex("00ff10"), std::string("\x00\xff\x10", 3));
  for (const char* bad : {"0", "0g", "zz", "FF"}) EXPECT_FALSE(from_hex(bad).ok()) << bad;
}

}  // namespace
}  // namespace wootz
