#include "base/status.h"

#include <gtest/gtest.h>

namespace wootz {
namespace {

Result<int> half_of(int x) {
  if (x % 2 != 0) return invalid_argument("{} is odd", x);
  return x / 2;
}
Result<int> quarter_of(int x) {
  WOOTZ_ASSIGN_OR_RETURN(const int half, half_of(x));
  WOOTZ_ASSIGN_OR_RETURN(const int quarter, half_of(half));
  return quarter;
}
Status check_even(int x) {
  WOOTZ_RETURN_IF_ERROR(half_of(x).status());
  return {};
}

TEST(Status, OkAndFailure) {
  EXPECT_TRUE(Status().ok());
  EXPECT_EQ(Status().code(), Code::kOk);
  EXPECT_EQ(Status().message(), "");
  EXPECT_EQ(Status().to_string(), "OK");
  const Status s = unsupported("node '{}'", "n");
  EXPECT_FALSE(s.ok());
  EXPECT_EQ(s.to_string(), "UNSUPPORTED: node 'n'");
  EXPECT_EQ(s.with_prefix("graph").message(), "graph: node 'n'");
  EXPECT_EQ(s.with_prefix("graph").code(), Code::kUnsupported);
  EXPECT_TRUE(Status().with_prefix("graph").ok());
}

TEST(Status, PlacesAreDataAndText) {
  const Status s = unsupported("no").at(PlaceKind::kLayer, "inner").at(PlaceKind::kLayer, "outer", "(native:loop)");
  EXPECT_EQ(s.message(), "layer 'outer' (native:loop): layer 'inner': no");
  const Status further = s.with_prefix("run").at(PlaceKind::kNetwork, "net");
  EXPECT_EQ(further.message(), "network 'net': run: layer 'outer' (native:loop): layer 'inner': no");
  EXPECT_EQ(further.code(), Code::kUnsupported);
  ASSERT_NE(further.place(PlaceKind::kLayer), nullptr);
  EXPECT_EQ(further.place(PlaceKind::kLayer)->name, "inner") << "the innermost";
  EXPECT_EQ(further.place(PlaceKind::kNetwork)->name, "net");
  EXPECT_EQ(further.place(PlaceKind::kNode), nullptr);
  EXPECT_EQ(unsupported("layer 'x': no").place(PlaceKind::kLayer), nullptr) << "the text says nothing";
  EXPECT_TRUE(Status().at(PlaceKind::kNode, "n").ok());
  EXPECT_EQ(Status().place(PlaceKind::kNode), nullptr);
}

TEST(Status, EveryCodeHasAName) {
  for (int c = 0; c <= static_cast<int>(Code::kInternal); ++c)
    EXPECT_STRNE(code_name(static_cast<Code>(c)), "UNKNOWN") << c;
}

TEST(Result, CarriesValueOrStatus) {
  EXPECT_EQ(*half_of(4), 2);
  EXPECT_FALSE(half_of(3).ok());
  EXPECT_EQ(*quarter_of(12), 3);
  EXPECT_EQ(quarter_of(6).status().message(), "3 is odd");
  EXPECT_TRUE(check_even(2).ok());
  EXPECT_FALSE(check_even(1).ok());
  // An ok Status is no reason to have no value.
  EXPECT_EQ(Result<int>(Status()).status().code(), Code::kInternal);
}

}  // namespace
}  // namespace wootz
