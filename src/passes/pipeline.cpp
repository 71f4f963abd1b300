#include <chrono>
#include <cstdlib>
#include <sstream>

#include "ir/verify.h"
#include "passes/pass.h"

namespace wootz {
namespace {

struct Turn {
  const char* name;
  PassFunction run;
};
// Order is policy: the lines RUN of passes.def, from top to bottom.
constexpr Turn kPipeline[] = {
#define RUN(function) {#function, function},
#include "passes/passes.def"
};
// Once, when nothing of the above changes anything any more.
constexpr Turn kLast[] = {
#define RUN_LAST(function) {#function, function},
#include "passes/passes.def"
};

constexpr int kMostRounds = 4;

// What the rest of the system relies on, whatever is disabled.
bool required(std::string_view name) { return name == "expand_compositions"; }

void add_from_environment(std::set<std::string, std::less<>>* disabled) {
  const char* list = std::getenv("WOOTZ_DISABLE_PASSES");
  if (list == nullptr) return;
  std::istringstream names(list);
  for (std::string name; std::getline(names, name, ',');)
    if (!name.empty()) disabled->insert(name);
}

}  // namespace

const std::vector<PassInfo>& all_passes() {
  static const std::vector<PassInfo> kPasses = {
#define PASS(function, why) {#function, function, why},
#define RELAXED(function, why) {#function, function, why, true},
#include "passes/passes.def"
  };
  return kPasses;
}

const PassInfo* find_pass(std::string_view name) {
  for (const PassInfo& pass : all_passes())
    if (name == pass.name) return &pass;
  return nullptr;
}

Result<std::vector<PassReport>> run_pipeline(Graph& graph, const PipelineOptions& options) {
  std::set<std::string, std::less<>> disabled = options.disabled;
  add_from_environment(&disabled);
  for (const std::string& name : disabled) {
    if (name == "all" || find_pass(name) != nullptr) continue;
    std::string known;
    for (const PassInfo& pass : all_passes()) known += std::string(known.empty() ? "" : ", ") + pass.name;
    return invalid_argument("there is no pass '{}' to disable; the passes are: {}", name, known);
  }
  std::vector<PassReport> reports;
  const auto run = [&](const Turn& turn, bool report_idle) -> Result<bool> {
    const char* const name = turn.name;
    if (!required(name) && (disabled.count("all") || disabled.count(name))) return false;
    if (find_pass(name)->relaxed && !options.relaxed) return false;
    PassReport report;
    report.name = name;
    report.nodes_before = graph.num_nodes();
    const auto start = std::chrono::steady_clock::now();
    Result<bool> changed = turn.run(graph);
    if (!changed.ok()) return changed.status().with_prefix(fmt::format("pass {}", name));
    report.changed = *changed;
    report.nodes_after = graph.num_nodes();
    report.ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    if (!report_idle && !report.changed) return false;
    if (options.verify) {
      if (Status status = verify_graph(graph); !status.ok())
        return status.with_prefix(fmt::format("after pass {}", name));
    }
    if (options.observer) options.observer(report, graph);
    reports.push_back(std::move(report));
    return *changed;
  };
  // A late pass may leave something for an early one: again, until a round changes nothing.
  bool any = options.part != PipelinePart::kLast;
  for (int round = 0; any && round < kMostRounds; ++round) {
    any = false;
    for (const Turn& turn : kPipeline) {
      WOOTZ_ASSIGN_OR_RETURN(const bool changed, run(turn, round == 0));
      any = any || changed;
    }
  }
  if (options.part != PipelinePart::kRounds)
    for (const Turn& turn : kLast) WOOTZ_RETURN_IF_ERROR(run(turn, true).status());
  return reports;
}

}  // namespace wootz
