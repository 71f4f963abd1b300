// Tests as data: each <pass>.test holds cases "=== name", a graph, "---", the graph that the pass must leave ("same":
// the one it was given). Both are also run on the reference with fresh random inputs and must agree: a pass changes
// how, never what.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "base/testing.h"
#include "base/tolerance.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "ops/cases.h"
#include "ops/infer.h"
#include "ops/interpreter.h"
#include "ops/registry.h"
#include "passes/pass.h"

namespace wootz {
namespace {

namespace fs = std::filesystem;

struct Case {
  std::string name, before, after;
};

std::vector<Case> read_cases(const fs::path& file) {
  std::ifstream in(file);
  std::vector<Case> cases;
  std::string* part = nullptr;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("=== ", 0) == 0) {
      cases.push_back({line.substr(4), "", ""});
      part = &cases.back().before;
    } else if (line == "---" && part != nullptr) {
      part = &cases.back().after;
    } else if (part != nullptr) {
      *part += line + "\n";
    }
  }
  return cases;
}

// Names do not matter, structure does: values and nodes get numbers in order.
std::string canonical(Graph& graph) {
  int n = 0;
  for (Value* v : graph.inputs()) v->set_name("in" + std::to_string(n++));
  for (Node* node : graph.nodes()) {
    node->set_name("n" + std::to_string(n));
    for (Value* out : node->outputs()) out->set_name("v" + std::to_string(n++));
  }
  n = 0;
  for (Node* node : graph.nodes())
    for (Value* in : node->inputs())
      if (in != nullptr && in->is_constant() && in->name().rfind("k#", 0) != 0)
        in->set_name("k#" + std::to_string(n++));
  for (Value* c : graph.constants())
    if (c->uses().empty() && !graph.is_output(c)) graph.erase_value(c);  // what a pass left for eliminate_dead
  graph.set_name("g");
  PrintOptions options;
  options.provenance = false;
  return print_graph(graph, options);
}

std::vector<HostTensor> random_inputs(const Graph& graph, CaseList* list) {
  std::vector<HostTensor> inputs;
  for (const Value* v : graph.inputs()) {
    Dims dims;
    for (const Dim& d : v->shape()) dims.push_back(d.is_const() ? d.value() : 3);
    inputs.push_back(list->random(v->dtype(), dims));
  }
  return inputs;
}

// What a cast has widened is as exact as it was before.
DType exactness(const Value& output) {
  const Node* const made = output.producer();
  const bool widened = made != nullptr && made->is("Cast") && output.dtype() == DType::kF32;
  return widened && is_float(made->input(0)->dtype()) ? made->input(0)->dtype() : output.dtype();
}

// Passes lie in folders by what they are about; names are of all of them.
fs::path file_of(const fs::path& folder, const std::string& name) {
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().filename() == name) return entry.path();
  return folder / name;
}

class PassFile : public ::testing::TestWithParam<std::string> {};

TEST_P(PassFile, LeavesWhatItSays) {
  const char* root = std::getenv("WOOTZ_SOURCE_DIR");
  ASSERT_NE(root, nullptr) << "set WOOTZ_SOURCE_DIR to the source tree";
  const fs::path file = file_of(fs::path(root) / "src/passes", GetParam() + ".test");
  const std::vector<Case> cases = read_cases(file);
  ASSERT_FALSE(cases.empty()) << file << " holds no case";
  const PassInfo* pass = find_pass(GetParam());
  ASSERT_NE(pass, nullptr);
  const uint64_t seed = test_seed();
  CaseList random(seed);
  for (const Case& c : cases) {
    SCOPED_TRACE(GetParam() + ".test, case " + c.name + ", seed " + std::to_string(seed));
    auto before = parse_graph(c.before, find_op);
    ASSERT_TRUE(before.ok()) << before.status().to_string();
    auto untouched = parse_graph(c.before, find_op);
    auto after = parse_graph(c.after == "same\n" ? c.before : c.after, find_op);
    ASSERT_TRUE(after.ok()) << after.status().to_string();
    Graph& graph = **before;
    for (Graph* g : {&graph, untouched->get(), after->get()}) {
      const Status inferred = infer_graph(*g);
      ASSERT_TRUE(inferred.ok()) << inferred.to_string();
    }
    const Result<bool> changed = pass->run(graph);
    ASSERT_TRUE(changed.ok()) << changed.status().to_string();
    const Status valid = verify_graph(graph);
    ASSERT_TRUE(valid.ok()) << valid.to_string();
    const std::vector<HostTensor> inputs = random_inputs(graph, &random);
    const auto expected = run_graph(**untouched, inputs);
    const auto actual = run_graph(graph, inputs);
    ASSERT_TRUE(expected.ok()) << expected.status().to_string();
    ASSERT_TRUE(actual.ok()) << actual.status().to_string();
    for (size_t o = 0; o < expected->size(); ++o) {
      const Difference d = compare_by_place((*actual)[o], (*expected)[o]);
      const double step = pass->relaxed ? 0.1 : 0;  // of 8 bits, which is left out
      EXPECT_TRUE(within(d, step + tolerance_for(exactness(*(*untouched)->outputs()[o]), 64)))
          << "output " << o << ": " << to_string(d);
    }
    const Result<bool> again = pass->run(graph);
    ASSERT_TRUE(again.ok());
    EXPECT_FALSE(*again) << "the pass is not idempotent";
    EXPECT_EQ(canonical(graph), canonical(**after));
  }
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const PassInfo& pass : all_passes()) all.emplace_back(pass.name);
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, PassFile, ::testing::ValuesIn(names()), [](const auto& info) { return info.param; });

}  // namespace
}  // namespace wootz
