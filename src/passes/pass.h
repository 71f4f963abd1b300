// A pass rewrites a graph and keeps provenance. The driver times, verifies, dumps and disables by name.
//
// Names of values are what debug taps go by: a value keeps its name while its elements are the same, and hands it on
// through replace_all_uses(). A pass that changes what a node computes gives its outputs another name
// (become_and_erase, or Value::set_new_meaning).
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace wootz {

using PassFunction = Result<bool> (*)(Graph&);  // true: changed something

#define PASS(function, why) Result<bool> function(Graph& graph);
#include "passes/passes.def"

struct PassInfo {
  const char* name;
  PassFunction run;
  const char* why;
  bool relaxed = false;  // its results may differ by roundings
};
const std::vector<PassInfo>& all_passes();
const PassInfo* find_pass(std::string_view name);

struct PassReport {
  std::string name;
  bool changed = false;
  int nodes_before = 0, nodes_after = 0;
  double ms = 0;
};

// Of passes.def: the rounds (RUN), and what comes once after them (RUN_LAST). Between the two, types may be assigned.
enum class PipelinePart : uint8_t { kAll, kRounds, kLast };

struct PipelineOptions {
  PipelinePart part = PipelinePart::kAll;
  std::set<std::string, std::less<>> disabled;  // names of passes to skip; "all" skips every optional one
  bool relaxed = false;                         // passes that leave roundings of the model out may run
  bool verify = false;                          // the graph verifier after each pass
  std::function<void(const PassReport&, const Graph&)> observer;
};

// The environment variable WOOTZ_DISABLE_PASSES adds names (separated by commas) to `disabled`.
Result<std::vector<PassReport>> run_pipeline(Graph& graph, const PipelineOptions& options);

}  // namespace wootz
