#include "onnx/text.h"

#include <gtest/gtest.h>

namespace wootz::importer {
namespace {

TEST(CleanName, AcceptsUtf8) {
  EXPECT_TRUE(is_clean_name(""));
  EXPECT_TRUE(is_clean_name("conv1/weights:0"));
  EXPECT_TRUE(is_clean_name("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80"));
}

TEST(CleanName, RefusesMalformedBytes) {
  for (const std::string_view bad : {"\x80", "a\xc3", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80",
                                     "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xff"})
    EXPECT_FALSE(is_clean_name(bad)) << printable(bad);
  EXPECT_FALSE(is_clean_name(std::string_view("a\0b", 3)));
}

TEST(Printable, EscapesAndShortens) {
  EXPECT_EQ(printable("conv"), "conv");
  EXPECT_EQ(printable("a\nb\x1b[31m"), "a\\x0ab\\x1b[31m");
  EXPECT_EQ(printable("\xff\xc3\xa4"), "\\xff\xc3\xa4");
  const std::string shown = printable(std::string(100'000, 'x'));
  EXPECT_LT(shown.size(), 200u);
  EXPECT_NE(shown.find("..."), std::string::npos);
  EXPECT_TRUE(is_clean_name(printable(std::string(100'000, '\xc3'))));
}

}  // namespace
}  // namespace wootz::importer
