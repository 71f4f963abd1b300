#include "plan/program_text.h"

#include <gtest/gtest.h>

#include "base/testing.h"
#include "plan/program_testing.h"

namespace wootz {
namespace {

size_t count(const std::string& text, const std::string& word) {
  size_t found = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

TEST(ProgramText, EveryPartOfAProgramIsALine) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    const Program p = RandomProgram(seed).make(4);
    const std::string text = print_program(p, [](const PlanConstant&) { return std::string("digest"); });
    EXPECT_EQ(text, print_program(p, [](const PlanConstant&) { return std::string("digest"); }));
    EXPECT_EQ(count(text, "\n  expr "), p.exprs.size());
    EXPECT_EQ(count(text, "\n  tensor "), p.tensors.size());
    EXPECT_EQ(count(text, "\n  step "), p.steps.size());
    EXPECT_EQ(count(text, "\n  constant "), p.constants.size());
    EXPECT_EQ(count(text, "\n  input "), p.inputs.size());
    EXPECT_EQ(count(text, "\n  output "), p.outputs.size());
    for (const Step& step : p.steps) EXPECT_NE(text.find(step.problem.key()), std::string::npos) << step.name;
  }
}

TEST(ProgramText, WhatChangesShows) {
  const Program p = RandomProgram(3).make(4);
  ASSERT_FALSE(p.steps.empty());
  const std::string before = print_program(p);
  const auto differs = [&](auto change) {
    Program changed = p;
    change(&changed);
    return print_program(changed) != before;
  };
  EXPECT_TRUE(differs([](Program* q) { q->steps[0].stream = 3; }));
  EXPECT_TRUE(differs([](Program* q) { q->steps[0].workspace += 64; }));
  EXPECT_TRUE(differs([](Program* q) { q->steps[0].inputs.push_back(-1); }));
  EXPECT_TRUE(differs([](Program* q) { q->steps[0].tactic.kernel += "x"; }));
  EXPECT_TRUE(differs([](Program* q) { q->tensors[0].layout = Layout::kBlocked16; }));
  EXPECT_TRUE(differs([](Program* q) { q->properties["one"] = "more"; }));
}

}  // namespace
}  // namespace wootz
