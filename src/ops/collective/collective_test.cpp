#include "base/collective.h"

#include <gmock/gmock.h>

#include "base/testing.h"
#include "ir/text.h"
#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;
using testing::HasSubstr;

AttrMap attrs(const CollectiveKind& kind, int64_t ranks, Ints groups = {}) {
  return {{"operation", std::string(kind.name)},
          {"reduction", std::string(kind.reduces ? "sum" : "none")},
          {"ranks", ranks},
          {"root", int64_t{kind.rooted ? (groups.empty() ? 0 : groups.back()) : -1}},
          {"groups", std::move(groups)}};
}
Result<Shape> shape_of(const CollectiveKind& kind, Shape input, int64_t ranks, Ints groups = {}) {
  Graph graph("test");
  Value* const x = graph.add_input("x", DType::kF32, std::move(input));
  Node* const node = graph.add_node(*find_op("Collective"), "c", {x}, attrs(kind, ranks, std::move(groups)));
  if (const Status status = infer_node(*node); !status.ok()) return status;
  return node->output(0)->shape();
}

TEST(Collective, FirstExtentFollowsTheRanksThatTakePart) {
  for (const CollectiveKind& kind : collective_kinds()) {
    const int64_t want = kind.first == FirstExtent::kTimes ? 36 : kind.first == FirstExtent::kPart ? 4 : 12;
    const Result<Shape> all = shape_of(kind, {Dim(12), Dim(5)}, 3),
                        some = shape_of(kind, {Dim(12), Dim(5)}, 9, {1, 7, 4});
    ASSERT_TRUE(all.ok() && some.ok()) << kind.name << all.status().to_string() << some.status().to_string();
    EXPECT_EQ(*all, (Shape{Dim(want), Dim(5)})) << kind.name;
    EXPECT_EQ(*some, *all) << kind.name << ": three of nine";
  }
}

TEST(Collective, ExtentsThatCannotBeSharedAreRefused) {
  for (const CollectiveKind& kind : collective_kinds()) {
    const Result<Shape> odd = shape_of(kind, {Dim(7), Dim(5)}, 2), scalar = shape_of(kind, {}, 2);
    const bool shares = kind.first == FirstExtent::kPart || kind.first == FirstExtent::kBlocks;
    EXPECT_EQ(odd.ok(), !shares) << kind.name;
    if (shares) EXPECT_THAT(odd.status().message(), HasSubstr("[7,5], is no multiple of the 2 ranks")) << kind.name;
    EXPECT_EQ(scalar.ok(), kind.first == FirstExtent::kSame) << kind.name;
  }
}

TEST(Collective, SettingsThatMakeNoSenseAreRefused) {
  const auto why = [](const char* name, std::string_view reduction, int64_t ranks, int64_t root, Ints groups) {
    Collective c{find_collective(name), reduction, ranks, root, std::move(groups)};
    const Status status = check_collective(c);
    return status.ok() ? std::string() : std::string(status.message());
  };
  EXPECT_EQ(why("all_reduce", "sum", 2, -1, {}), "");
  EXPECT_EQ(why("broadcast", "none", 4, 3, {1, 3}), "");
  EXPECT_THAT(why("all_reduce", "none", 2, -1, {}), HasSubstr("needs a reduction"));
  EXPECT_THAT(why("all_gather", "max", 2, -1, {}), HasSubstr("must be none, it is max"));
  EXPECT_THAT(why("all_reduce", "most", 2, -1, {}), HasSubstr("'most' is not known"));
  EXPECT_THAT(why("broadcast", "none", 2, -1, {}), HasSubstr("needs a root"));
  EXPECT_THAT(why("reduce", "sum", 2, 2, {}), HasSubstr("rank 2, and there are 2 ranks"));
  EXPECT_THAT(why("reduce", "sum", 4, 2, {0, 1}), HasSubstr("rank 2, is not in the groups"));
  EXPECT_THAT(why("all_gather", "none", 4, -1, {0, 4}), HasSubstr("rank 4 is in the groups"));
  EXPECT_THAT(why("all_gather", "none", 4, -1, {1, 0, 1}), HasSubstr("rank 1 is in the groups twice"));
  EXPECT_THAT(why("all_gather", "none", 4, -1, {-1, 0}), HasSubstr("rank -1"));
  EXPECT_THAT(why("all_gather", "none", 0, -1, {}), HasSubstr("0 ranks"));
}

TEST(Collective, TypesThatNobodyReducesAreRefused) {
  const Collective sum{find_collective("all_reduce"), "sum", 2, -1, {}},
      gather{find_collective("gather"), "none", 2, 0, {}};
  EXPECT_TRUE(check_collective_type(sum, DType::kBF16).ok());
  EXPECT_TRUE(check_collective_type(gather, DType::kF8E4M3).ok());
  EXPECT_TRUE(check_collective_type(gather, DType::kBool).ok());
  for (const DType type : {DType::kBool, DType::kF8E4M3, DType::kI16})
    EXPECT_THAT(check_collective_type(sum, type).message(), HasSubstr(dtype_name(type)));
  EXPECT_FALSE(check_collective_type(gather, DType::kI4).ok());
}

TEST(Collective, OneRankKeepsWhatItHasAndMoreHaveNoReference) {
  const HostTensor x = iota(DType::kI32, {6, 2});
  for (const CollectiveKind& kind : collective_kinds()) {
    const Result<std::vector<HostTensor>> alone = try_op("Collective", {x}, attrs(kind, 1));
    ASSERT_TRUE(alone.ok()) << kind.name << ": " << alone.status().to_string();
    ASSERT_EQ((*alone)[0].dims(), x.dims());
    for (int64_t i = 0; i < x.volume(); ++i) EXPECT_EQ((*alone)[0].get_i64(i), i) << kind.name;
    EXPECT_THAT(try_op("Collective", {x}, attrs(kind, 2)).status().message(), HasSubstr("of 2 ranks")) << kind.name;
  }
}

}  // namespace
}  // namespace wootz
