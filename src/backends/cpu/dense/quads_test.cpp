// Sums by groups of quads and by crossed products: the values that are worst for the weights, and blocks that no
// packing made.
#include <cstring>
#include <random>
#include <tuple>

#include "backends/cpu/dense/quads_tile.h"
#include "backends/cpu/testing/kernel_runner.h"

namespace wootz::cpu {
namespace {

int pick(std::mt19937_64& rng, int low, int high) { return std::uniform_int_distribution<int>(low, high)(rng); }

// A panel of weights of `depth` elements, and rows of i8 for them.
struct Sample {
  Sample(const QuadsOps& o, int64_t d) : ops(o), depth(d), quads(ceil_div(d, 4)), panel(o.panel) {
    weights.assign(static_cast<size_t>(quads * panel * 4), 0);
    block.resize(static_cast<size_t>(ops.block_bytes(quads, panel)));
  }
  int8_t& weight(int64_t k, int64_t column) {
    return weights[static_cast<size_t>((k / 4 * panel + column) * 4 + k % 4)];
  }
  void pack() { ops.pack(weights.data(), quads, panel, block.data()); }
  std::vector<int32_t> sums(const std::vector<std::vector<int8_t>>& rows) const {
    const auto count = static_cast<int64_t>(rows.size());
    std::vector<char> values(static_cast<size_t>(count * ops.row_bytes()));
    std::vector<int32_t> more, start(static_cast<size_t>(panel), 0), found(static_cast<size_t>(count * panel));
    for (int64_t i = 0; i < count; ++i)
      more.push_back(ops.spread(reinterpret_cast<const uint8_t*>(rows[static_cast<size_t>(i)].data()), 0, depth,
                                values.data() + i * ops.row_bytes()));
    QuadsTile t;
    t.values = values.data();
    t.more = more.data();
    t.block = block.data();
    t.quads = quads;
    t.start = start.data();
    t.sums = found.data();
    t.stride = panel;
    ops.tile(t, count);
    return found;
  }

  const QuadsOps& ops;
  int64_t depth, quads, panel;
  std::vector<int8_t> weights;
  std::vector<std::byte> block;
};

using OpsOf = const QuadsOps& (*)(Isa);

class QuadsTest : public testing::TestWithParam<std::tuple<Isa, OpsOf>> {
  void SetUp() override { WOOTZ_NEEDS_ISA(isa() <= usable_isa(), "avx512"); }

 protected:
  static Isa isa() { return std::get<0>(GetParam()); }
  static bool groups() { return std::get<1>(GetParam()) == quads_ops; }
  static const QuadsOps& ops() { return std::get<1>(GetParam())(isa()); }
};

// Row c is what makes the sums of column c largest, or least, wherever they are cut; the last ones are random.
TEST_P(QuadsTest, TheWorstValuesStayExact) {
  std::mt19937_64 rng(rig::seed());
  SCOPED_TRACE("seed " + std::to_string(rig::seed()));
  for (int i = 0; i < 40; ++i) {
    Sample s(ops(), pick(rng, 1, static_cast<int>(ops().part)));
    const int spread = pick(rng, 0, 3) == 0 ? 128 : pick(rng, 1, 127);
    for (int64_t k = 0; k < s.depth; ++k)
      for (int64_t c = 0; c < s.panel; ++c)
        s.weight(k, c) = static_cast<int8_t>(pick(rng, -spread, std::min(spread, 127)));
    s.pack();
    std::vector<std::vector<int8_t>> rows(static_cast<size_t>(2 * s.panel + 3));
    for (size_t r = 0; r < rows.size(); ++r)
      for (int64_t k = 0; k < s.depth; ++k) {
        const auto c = static_cast<int64_t>(r) / 2;
        const bool up = c < s.panel && (s.weight(k, c) < 0) == (r % 2 == 0);
        rows[r].push_back(static_cast<int8_t>(c >= s.panel ? pick(rng, -128, 127) : up ? 127 : -128));
      }
    const std::vector<int32_t> found = s.sums(rows);
    for (size_t r = 0; r < rows.size(); ++r)
      for (int64_t c = 0; c < s.panel; ++c) {
        int32_t want = 0;
        for (int64_t k = 0; k < s.depth; ++k) want += rows[r][static_cast<size_t>(k)] * s.weight(k, c);
        ASSERT_EQ(found[r * static_cast<size_t>(s.panel) + static_cast<size_t>(c)], want)
            << "row " << r << ", column " << c << ", depth " << s.depth << ", weights up to " << spread;
      }
  }
}

// Small weights are added four quads at a time, the largest one by one.
TEST_P(QuadsTest, GroupsAreAsLargeAsWeightsAllow) {
  if (!groups()) GTEST_SKIP() << "of other blocks";
  for (const int weight : {0, 15, 16, 31, 42, 63, 64, 127, -128}) {
    Sample s(ops(), 96);
    std::fill(s.weights.begin(), s.weights.end(), static_cast<int8_t>(weight));
    s.pack();
    QuadBlock head;
    std::memcpy(&head, s.block.data(), sizeof head);
    const int size = weight < 0 ? -weight : weight + 1, together = std::min(kMostTogether, 256 / (2 * size));
    EXPECT_EQ(head.groups[kMostTogether - together], 24 / together) << weight;
  }
}

// What a plan says of groups and places may be anything: sums are then wrong, but nothing beyond the operands is read.
TEST_P(QuadsTest, AnyBlockIsRead) {
  std::mt19937_64 rng(rig::seed());
  SCOPED_TRACE("seed " + std::to_string(rig::seed()));
  for (int i = 0; i < 20; ++i) {
    Sample s(ops(), pick(rng, 1, 300));
    for (std::byte& b : s.block) b = static_cast<std::byte>(pick(rng, 0, 255));
    s.sums(std::vector<std::vector<int8_t>>(7, std::vector<int8_t>(static_cast<size_t>(s.depth), 1)));
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, QuadsTest,
                         testing::Combine(testing::Values(Isa::kAvx2, Isa::kAvx512),
                                          testing::Values(quads_ops, crossed_ops)),
                         [](const auto& which) {
                           return std::string(std::get<1>(which.param) == quads_ops ? "groups" : "crossed") +
                                  (std::get<0>(which.param) == Isa::kAvx2 ? "_avx2" : "_avx512");
                         });

}  // namespace
}  // namespace wootz::cpu
