#include "base/dims.h"

#include <gtest/gtest.h>

namespace wootz {
namespace {

TEST(Dims, Basics) {
  Dims d{2, 3, 4};
  EXPECT_EQ(d.rank(), 3);
  EXPECT_EQ(d.volume(), 24);
  EXPECT_EQ(d.strides(), (Dims{12, 4, 1}));
  EXPECT_EQ(d.to_string(), "[2x3x4]");
  EXPECT_EQ(Dims{}.to_string(), "[]");
  EXPECT_EQ(Dims{}.volume(), 1);
  EXPECT_FALSE(d == (Dims{2, 3}));
  EXPECT_FALSE(d == (Dims{2, 3, 5}));
  d.pop_back();
  EXPECT_EQ(d, (Dims{2, 3}));
  EXPECT_EQ(Dims::filled(3, 7), (Dims{7, 7, 7}));
}

TEST(Dims, RankIsCapped) {
  Dims d;
  for (int i = 0; i < 20; ++i) d.push_back(i);
  EXPECT_EQ(d.rank(), limits::kMaxRank);
  EXPECT_EQ(d.back(), 7);
  for (int i = 0; i < 20; ++i) d.pop_back();
  EXPECT_TRUE(d.empty());
}

TEST(Dims, CheckedVolume) {
  const auto volume = [](Dims d) { return checked_volume(d.span()); };
  EXPECT_EQ(*volume({3, 4}), 12);
  EXPECT_EQ(*volume({}), 1);
  EXPECT_EQ(*volume({0, 5}), 0);
  EXPECT_EQ(volume({0, INT64_MAX, INT64_MAX}).status().code(), Code::kResourceExhausted);  // its strides overflow
  EXPECT_EQ(volume({INT64_MAX, 2}).status().code(), Code::kResourceExhausted);
  EXPECT_EQ(volume({limits::kMaxElements}).ok(), true);
  EXPECT_EQ(volume({limits::kMaxElements, 2}).status().code(), Code::kResourceExhausted);
  EXPECT_EQ(volume({0, -1}).status().code(), Code::kInvalidArgument);
}

TEST(Dims, Broadcast) {
  EXPECT_EQ(*broadcast_dims({2, 1, 4}, {3, 1}), (Dims{2, 3, 4}));
  EXPECT_EQ(*broadcast_dims({}, {5}), (Dims{5}));
  EXPECT_EQ(*broadcast_dims({0}, {1}), (Dims{0}));
  const auto refused = broadcast_dims({2, 3}, {4});
  EXPECT_EQ(refused.status().message(), "shapes [2x3] and [4] do not broadcast: 3 against 4");
  EXPECT_FALSE(broadcast_dims({0}, {2}).ok());
  EXPECT_EQ(broadcast_strides({3, 1}, {2, 3, 4}), (Dims{0, 1, 0}));
  EXPECT_EQ(broadcast_strides({2, 3, 4}, {2, 3, 4}), (Dims{12, 4, 1}));
}

TEST(Dims, NormalizeAxis) {
  EXPECT_EQ(*normalize_axis(-1, 3), 2);
  EXPECT_EQ(*normalize_axis(0, 3), 0);
  EXPECT_FALSE(normalize_axis(3, 3).ok());
  EXPECT_FALSE(normalize_axis(-4, 3).ok());
  EXPECT_FALSE(normalize_axis(0, 0).ok());
}

}  // namespace
}  // namespace wootz
