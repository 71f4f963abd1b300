#include "plan/program_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "backend/index_literals.h"
#include "base/testing.h"
#include "plan/parse_program.h"
#include "plan/program_testing.h"
#include "plan/write.h"

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
  EXPECT_TRUE(differs([](Program* q) { q->steps[0_step].stream = 3; }));
  EXPECT_TRUE(differs([](Program* q) { q->steps[0_step].workspace += 64; }));
  EXPECT_TRUE(differs([](Program* q) { q->steps[0_step].inputs.push_back(TensorIndex()); }));
  EXPECT_TRUE(differs([](Program* q) { q->steps[0_step].tactic.kernel += "x"; }));
  EXPECT_TRUE(differs([](Program* q) { q->tensors[0_tensor].layout = Layout::kBlocked16; }));
  EXPECT_TRUE(differs([](Program* q) { q->properties["one"] = "more"; }));
}

// All of them, those of bodies too; what stands for the bytes of one in a text is its number here.
using Constants = std::vector<const PlanConstant*>;
void add_constants(const Program& p, Constants* all) {
  for (const PlanConstant& c : p.constants) all->push_back(&c);
  for (const Program& body : p.bodies) add_constants(body, all);
}
std::string text_of(const Program& p) {
  Constants all;
  add_constants(p, &all);
  return print_program(p,
                       [&](const PlanConstant& c) { return std::to_string(std::ranges::find(all, &c) - all.begin()); });
}

TEST(ProgramText, ReadsBack) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Program p = RandomProgram(seed).make();
    p.native.clear();  // is not in the text
    p.refit = nullptr;
    p.properties["text"] = "a \"quoted\" word\nand a line";
    Constants constants;
    add_constants(p, &constants);
    const std::string text = text_of(p);
    size_t filled = 0;
    const Result<Program> read = parse_program(text, [&](std::string_view digest, PlanConstant* constant) {
      const PlanConstant& c = *constants.at(std::stoul(std::string(digest)));
      constant->data = c.data;
      constant->owner = c.owner;
      ++filled;
      return Status();
    });
    ASSERT_TRUE(read.ok()) << read.status().to_string() << '\n' << text;
    EXPECT_EQ(text_of(*read), text);
    EXPECT_EQ(filled, constants.size());
    const Result<RawBytes> before = write_plan(p), after = write_plan(*read);
    ASSERT_TRUE(before.ok()) << before.status().to_string();
    ASSERT_TRUE(after.ok()) << after.status().to_string();
    EXPECT_TRUE(std::ranges::equal(*before, *after)) << "another plan";
  }
}

TEST(ProgramText, DamagedTextIsRefusedWithItsLine) {
  std::mt19937 rng(test_seed());
  for (int round = 0; round < 400; ++round) {
    std::string text = print_program(RandomProgram(static_cast<unsigned>(round)).make(4));
    if (round % 2 == 0)
      text.resize(rng() % text.size());
    else
      text[rng() % text.size()] = static_cast<char>(rng() % 128);
    const Result<Program> read = parse_program(text);
    if (!read.ok()) EXPECT_FALSE(read.status().message().empty());
  }
  const auto error = [](const char* text) { return parse_program(text).status().message(); };
  EXPECT_NE(error("program \"n\" cpu {\n  expr 1 = 2\n}\n").find("line 2"), std::string::npos);
  EXPECT_NE(error("program \"n\" cpu {\n  colour 1\n}\n").find("'colour'"), std::string::npos);
  EXPECT_NE(error("program \"n\" cpu {\n").find("no end"), std::string::npos);
  EXPECT_NE(error("program \"n\" cpu {\n}\nmore\n").find("after the program"), std::string::npos);
}

}  // namespace
}  // namespace wootz
