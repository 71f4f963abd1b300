// Where values are, as a plan says it: which may be anything.
#include "runtime/report/value_map.h"
#include "backend/index_literals.h"

#include <gtest/gtest.h>

#include "report/record.h"
#include "runtime/report/engine_info.h"
#include "runtime/report/kept_report.h"

namespace wootz {
namespace {

Program two_steps(const char* values) {
  Program p;
  p.tensors.resize(3);
  p.tensors[0_tensor].name = "x";
  p.tensors[0_tensor].kind = TensorKind::kInput;
  p.tensors[1_tensor].name = "m@channels_last";
  p.tensors[1_tensor].layout = Layout::kChannelsLast;
  p.tensors[2_tensor].name = "y";
  p.tensors[2_tensor].kind = TensorKind::kOutput;
  for (PlanTensor& t : p.tensors) t.dtype = DType::kF32;
  p.steps.resize(2);
  p.steps[0_step].name = "a + b";
  p.steps[0_step].inputs = {0_tensor};
  p.steps[0_step].outputs = {1_tensor};
  p.steps[1_step].name = "c";
  p.steps[1_step].inputs = {1_tensor};
  p.steps[1_step].outputs = {2_tensor};
  p.inputs = {{0_tensor, false}};
  p.outputs = {{2_tensor, false}};
  p.properties[property::kValues] = values;
  return p;
}

TEST(ValueMap, FindsAndExplains) {
  const Program p = two_steps(R"({"m":1,"a":[0],"k":"constant","s":"shape","d":"pass:eliminate_dead"})");
  const ValueMap map(p);
  for (const auto& [name, tensor] : {std::pair("x", 0_tensor), std::pair("y", 2_tensor), std::pair("m", 1_tensor),
                                     std::pair("m@channels_last", 1_tensor)}) {
    const Result<TensorIndex> found = map.find(name);
    ASSERT_TRUE(found.ok()) << name << found.status().to_string();
    EXPECT_EQ(*found, tensor);
  }
  const auto says = [&](const char* name, std::vector<const char*> words) {
    const Result<TensorIndex> found = map.find(name);
    ASSERT_FALSE(found.ok()) << name;
    for (const char* word : words)
      EXPECT_NE(found.status().message().find(word), std::string::npos) << word << " in: " << found.status().message();
  };
  says("a", {"'a'", "'a + b'", "inputs 'x'", "outputs 'm'"});
  says("k", {"'k'", "known while building"});
  says("s", {"'s'", "shapes"});
  says("d", {"'d'", "eliminate_dead"});
  says("nothing", {"'nothing'"});
}

TEST(ValueMap, WhatDoesNotFitIsAbsent) {
  for (const char* odd : {"", "{", "[1,2]", "7",
                          R"({"a":-3,"b":99,"c":[7,-1,"x",1e30],"d":{},"e":null,"f":1.5,"g":18446744073709551615})"}) {
    const Program p = two_steps(odd);
    const ValueMap map(p);
    for (const char* name : {"a", "b", "c", "d", "e", "f", "g", ""}) EXPECT_FALSE(map.find(name).ok()) << odd << name;
    EXPECT_TRUE(map.find("x").ok());
    for (const ValueMap::Entry& entry : map.entries()) EXPECT_LT(entry.tensor.number(), 3);
  }
}

TEST(KeptReport, WhatDoesNotFitIsLeftOut) {
  Program p = two_steps("{}");
  for (const char* odd :
       {"", "[]", R"({"Steps":[],"Choices":{}})",
        R"({"Steps":{"c":{"Chosen":9,"Choice":0}},"Choices":[{"Considered":[]}]})",
        R"({"Steps":{"c":{"Chosen":-1,"Choice":0}},"Choices":[{"Considered":[{}],"NotApplicable":3}]})",
        R"({"Steps":{"c":{"Chosen":"0","Choice":-4}},"Nodes":[1,{"Name":2},{"Name":"n","Outputs":4}],"Fusions":7})"}) {
    p.properties[property::kReport] = odd;
    const Json report = program_report(p, kept_json(p, property::kReport), {});
    EXPECT_EQ(report["layers"].size(), 2u) << odd;
    EXPECT_FALSE(dump_report(report).empty());
  }
}

}  // namespace
}  // namespace wootz
