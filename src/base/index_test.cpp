#include "base/index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <type_traits>

namespace wootz {
namespace {

using Page = Index<struct PageTag>;
using Line = Index<struct LineTag>;

TEST(Index, KnowsItsKind) {
  static_assert(!std::is_convertible_v<int, Page> && !std::is_convertible_v<Page, int>);
  static_assert(!std::is_convertible_v<Line, Page> && !std::is_constructible_v<Page, Line>);
  static_assert(!std::is_invocable_v<decltype(&IndexedVector<Page, int>::has), IndexedVector<Page, int>, Line>);
}

TEST(Index, NoneIsBeforeTheFirst) {
  EXPECT_FALSE(Page().exists());
  EXPECT_TRUE(Page(0).exists());
  EXPECT_LT(Page(), Page(0));
  EXPECT_EQ(Page().next(), Page(0));
  EXPECT_EQ(Page(6).next(), Page(7));
  EXPECT_EQ(std::max(Page(3), Page()), Page(3));
}

TEST(Index, IsPrintedAsItsNumber) { EXPECT_EQ(fmt::format("{} {}", Page(12), Page()), "12 -1"); }

TEST(IndexedVector, IsReadByIndices) {
  IndexedVector<Page, int> pages;
  EXPECT_EQ(pages.next(), Page(0));
  EXPECT_EQ(pages.add(10), Page(0));
  EXPECT_EQ(pages.add(20), Page(1));
  EXPECT_EQ(pages[Page(1)], 20);
  EXPECT_TRUE(pages.has(Page(1)));
  EXPECT_FALSE(pages.has(Page(2)));
  EXPECT_FALSE(pages.has(Page()));
  EXPECT_THROW(pages.at(Page(2)), std::out_of_range);
  int sum = 0;
  for (const Page p : pages.indices()) sum += (p.number() + 1) * pages[p];
  EXPECT_EQ(sum, 50);
}

}  // namespace
}  // namespace wootz
