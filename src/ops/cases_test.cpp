// Every module's cases infer, run on the reference, and give the inferred types.
#include "ops/cases.h"

#include <gtest/gtest.h>

#include <set>

#include "base/testing.h"
#include "ops/infer.h"
#include "ops/interpreter.h"
#include "ops/registry.h"

namespace wootz {
namespace {

TEST(Cases, EveryCaseRunsOnTheReference) {
  const uint64_t seed = test_seed();
  std::set<std::string> names;
  for (const OpCase& c : all_cases(seed)) {
    SCOPED_TRACE(c.name);
    EXPECT_TRUE(names.insert(c.name).second) << "duplicate case name";
    const Status inferred = infer_graph(*c.graph);
    ASSERT_TRUE(inferred.ok()) << inferred.to_string();
    const auto outputs = run_graph(*c.graph, c.inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.status().to_string();
    for (size_t o = 0; o < outputs->size(); ++o) {
      const Value* value = c.graph->outputs()[o];
      EXPECT_EQ((*outputs)[o].dtype(), value->dtype()) << "output " << o;
      if (const auto dims = to_dims(value->shape())) {
        EXPECT_EQ((*outputs)[o].dims().to_string(), dims->to_string());
      }
    }
  }
}

TEST(Registry, NamesAreUniqueAndRulesComplete) {
  std::set<std::string> names;
  for (const OpDef* def : all_ops()) {
    SCOPED_TRACE(def->name);
    EXPECT_TRUE(names.insert(def->name).second);
    EXPECT_EQ(find_op(def->name), def);
    const bool fused = std::string(def->name) == "Pointwise";
    EXPECT_TRUE(def->infer != nullptr || def->pointwise != nullptr || fused);
    EXPECT_TRUE(def->reference != nullptr || def->pointwise != nullptr || fused);
  }
}

}  // namespace
}  // namespace wootz
