#include "report/compare.h"

#include <gtest/gtest.h>

namespace wootz {
namespace {

Json tensor(const char* name, const char* format, std::vector<int64_t> dims) {
  return {{"Name", name}, {"Dimensions", std::move(dims)}, {"Format/Datatype", format}};
}

Json layer(const char* name, std::vector<std::string> nodes, const char* tactic, double us) {
  return {{"Name", name},
          {"LayerType", "Convolution"},
          {"Nodes", std::move(nodes)},
          {"TacticName", tactic},
          {"TimeUs", us},
          {"Inputs", {tensor("x", "Row major linear FP32", {1, 3})}},
          {"Outputs", {tensor("y", "Channels last FP32", {1, 4})}}};
}

Json report() {
  return {{"layers", {layer("a + b", {"a", "b"}, "native:k", 10), layer("c", {"c"}, "native:m", 20)}},
          {"nodes",
           {{{"Name", "a"}}, {{"Name", "b"}}, {{"Name", "c"}}, {{"Name", "gone"}, {"RemovedBy", "fold_constants"}}}},
          {"optimization", {{"steps", 2}, {"reformats", 0}}},
          {"configuration", {{"backend", "cpu"}}}};
}

TEST(Compare, EqualReportsAreTheSame) {
  const Json c = compare_reports(report(), report());
  EXPECT_TRUE(c["same"]);
  EXPECT_NE(comparison_text(c, "one.plan", "two.plan").find("The same."), std::string::npos);
}

TEST(Compare, TimesAloneAreNoDifference) {
  Json b = report();
  b["layers"][0]["TimeUs"] = 30.0;
  const Json c = compare_reports(report(), b);
  EXPECT_TRUE(c["same"]);
  ASSERT_EQ(c["times"].size(), 1u);
  EXPECT_EQ(c["times"][0]["time_us"], Json({10.0, 30.0}));
}

TEST(Compare, TacticTypeLayoutAndShape) {
  Json b = report();
  b["layers"][1]["TacticName"] = "onednn:n";
  b["layers"][1]["Outputs"][0] = tensor("y", "Row major linear Int8", {2, 4});
  const Json c = compare_reports(report(), b);
  EXPECT_FALSE(c["same"]);
  ASSERT_EQ(c["steps"].size(), 1u);
  const Json& changes = c["steps"][0]["changes"];
  EXPECT_EQ(changes["tactic"], Json({"native:m", "onednn:n"}));
  EXPECT_EQ(changes["precision"], Json({"FP32 -> FP32", "FP32 -> Int8"}));
  EXPECT_EQ(changes["layout"], Json({"Row major linear -> Channels last", "Row major linear -> Row major linear"}));
  EXPECT_EQ(changes["shape"], Json({"1x3 -> 1x4", "1x3 -> 2x4"}));
  EXPECT_FALSE(changes.contains("kind"));
}

TEST(Compare, FusionFatesAndNodesOfOneSide) {
  Json b = report();
  b["layers"] = {layer("a", {"a"}, "native:k", 1), layer("b + c", {"b", "c"}, "native:k", 1),
                 layer("gone", {"gone"}, "native:g", 1), layer("new", {"new"}, "native:g", 1)};
  b["nodes"] = {{{"Name", "a"}}, {{"Name", "b"}}, {{"Name", "c"}}, {{"Name", "gone"}}, {{"Name", "new"}}};
  const Json c = compare_reports(report(), b);
  EXPECT_FALSE(c["same"]);
  ASSERT_EQ(c["fusion"].size(), 1u);
  EXPECT_EQ(c["fusion"][0]["nodes"], Json({"a", "b", "c"}));
  EXPECT_EQ(c["fusion"][0]["a"], Json::parse(R"([["a","b"],["c"]])"));
  EXPECT_EQ(c["fusion"][0]["b"], Json::parse(R"([["a"],["b","c"]])"));
  EXPECT_EQ(c["only_in_b"], Json({"new"}));
  ASSERT_EQ(c["fates"].size(), 1u);
  EXPECT_EQ(c["fates"][0]["a"], "gone after fold_constants");
  EXPECT_EQ(c["fates"][0]["b"], "step");
  const std::string text = comparison_text(c, "one", "two");
  for (const char* part : {"a + b  |  c", "a  |  b + c", "Nodes only in B (1)", "They differ."})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(Compare, ReportsFromAnywhere) {
  for (const char* odd :
       {"{}", R"({"layers":[1,{"Nodes":[3,"a"]},{"Nodes":"x"}],"nodes":{"a":1}})",
        R"({"layers":[{"Nodes":["a"],"Inputs":[7,{"Dimensions":["q",null]}],"TimeUs":"long"}],"optimization":5})"}) {
    const Json c = compare_reports(Json::parse(odd), report());
    EXPECT_FALSE(c["same"]) << odd;
    EXPECT_FALSE(comparison_text(c, "a", "b").empty());
    EXPECT_FALSE(report_text(Json::parse(odd)).empty());
  }
}

}  // namespace
}  // namespace wootz
