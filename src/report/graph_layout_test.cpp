#include "report/graph_layout.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <random>

#include "base/testing.h"

namespace wootz {
namespace {

bool apart(const LayoutBox& a, const LayoutBox& b) {
  return std::abs(a.center.x - b.center.x) >= (a.width + b.width) / 2 - 1e-6 ||
         std::abs(a.center.y - b.center.y) >= (a.height + b.height) / 2 - 1e-6;
}

TEST(GraphLayout, BoxesAreApartAndEdgesLeadDown) {
  const uint64_t seed = test_seed();
  std::mt19937_64 random(seed);
  for (int round = 0; round < 60; ++round) {
    const int n = 1 + static_cast<int>(random() % 60);
    std::vector<LayoutBox> boxes;
    std::vector<LayoutEdge> edges;
    for (int i = 0; i < n; ++i)
      boxes.push_back({20.0 + static_cast<double>(random() % 200), 10.0 + static_cast<double>(random() % 90), {}});
    for (int i = 1; i < n; ++i)
      for (uint64_t k = random() % 3; k > 0; --k)
        edges.push_back({static_cast<int>(random() % static_cast<uint64_t>(i)), i, {}});
    const Layout2D size = lay_out(&boxes, &edges);
    for (int i = 0; i < n; ++i) {
      const LayoutBox& a = boxes[static_cast<size_t>(i)];
      ASSERT_TRUE(std::isfinite(a.center.x) && std::isfinite(a.center.y));
      EXPECT_GE(a.center.x - a.width / 2, -1e-6);
      EXPECT_LE(a.center.x + a.width / 2, size.width + 1e-6);
      EXPECT_LE(a.center.y + a.height / 2, size.height + 1e-6);
      for (int j = 0; j < i; ++j)
        EXPECT_TRUE(apart(a, boxes[static_cast<size_t>(j)])) << i << " and " << j << " overlap";
    }
    for (const LayoutEdge& e : edges) {
      ASSERT_GE(e.points.size(), 2u);
      const LayoutBox &a = boxes[static_cast<size_t>(e.from)], &b = boxes[static_cast<size_t>(e.to)];
      EXPECT_NEAR(e.points.front().y, a.center.y + a.height / 2, 1e-6);
      EXPECT_NEAR(e.points.back().y, b.center.y - b.height / 2, 1e-6);
      for (size_t i = 1; i < e.points.size(); ++i) EXPECT_GE(e.points[i].y, e.points[i - 1].y - 1e-6);
    }
  }
}

TEST(GraphLayout, AChainIsStraight) {
  std::vector<LayoutBox> boxes(20, {100, 30, {}});
  std::vector<LayoutEdge> edges;
  for (int i = 0; i + 1 < 20; ++i) edges.push_back({i, i + 1, {}});
  lay_out(&boxes, &edges);
  for (const LayoutBox& b : boxes) EXPECT_NEAR(b.center.x, boxes[0].center.x, 1e-6);
}

TEST(GraphLayout, OddEdgesAndLargeGraphs) {
  std::vector<LayoutBox> none;
  std::vector<LayoutEdge> odd{{0, 1, {}}, {-3, 2, {}}, {5, 5, {}}, {2, 1, {}}};
  EXPECT_EQ(lay_out(&none, &odd).width, 0);
  std::vector<LayoutBox> three(3, {10, 10, {}});
  lay_out(&three, &odd);
  EXPECT_FALSE(odd[0].points.empty());
  for (size_t i = 1; i < odd.size(); ++i) EXPECT_TRUE(odd[i].points.empty());
  // Every tenth node is read by all that follow within 2,000: many edges that pass layers.
  std::vector<LayoutBox> boxes(20000, {100, 30, {}});
  std::vector<LayoutEdge> edges;
  for (int i = 1; i < 20000; ++i) {
    edges.push_back({i - 1, i, {}});
    if (i > 2000) edges.push_back({(i - 2000) / 10 * 10, i, {}});
  }
  const auto start = std::chrono::steady_clock::now();
  lay_out(&boxes, &edges);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

}  // namespace
}  // namespace wootz
