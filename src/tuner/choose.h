// The graph's choice: one candidate per step and one layout per tensor, with the cost of reformats between them
// counted.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backend/program.h"

namespace wootz {

// What was considered for a step, kept as data for reports.
struct Considered {
  Candidate candidate;
  size_t rivals = 0;  // other candidates of the step
  double us = 0;      // measured, or estimated
  double spread = 0;    // of the measurements, relative to `us`
  bool measured = false;
  bool known = false;   // not measured now: the timing cache knew it
  double error = -1;    // relative difference from the reference, -1: not checked
  std::string refusal;  // not empty: disqualified, and why
};
struct StepReport {
  std::string step;
  std::vector<Considered> considered;
  std::vector<Refusal> refused;  // kernels that did not apply
  int chosen = -1;               // index into considered
};

struct ChooseOptions {
  Limits limits;
  // Cost in microseconds of a candidate (problem with the candidate's layouts filled in); fills in Considered.
  // Null: the provider's estimate. Numbers beyond the program's steps are reformats, for what they cost in the search.
  std::function<Status(const Problem& problem, size_t step, Considered* candidate)> cost;
  // Adds further offers for a problem of free layouts. Null: providers alone are asked.
  std::function<void(const Problem& problem, std::vector<Candidate>* offers)> more;
  // Runs a chosen candidate whose time was known without running it. What fails is refused, and the choice made again.
  std::function<Status(const Problem& problem, size_t step, const Candidate& candidate)> prove;
  std::function<void(const std::string&)> warn;  // names the layer
  // Called as steps are costed; false cancels.
  std::function<bool(size_t done, size_t total, const std::string& step)> progress;
  double reformat_gb_per_s = 8;  // read + write, for reformats that are not measured (`cost` is null or fails)
};

struct Choice {
  std::vector<StepReport> steps;  // of the steps given, in their order; then of the reformats inserted
  size_t reformats_before = 0;    // if every step were given its own favourite layout
  size_t reformats = 0;           // inserted
  double total_us = 0;
};

// Fills in tactics and layouts and inserts `reformat` steps. Errors: a step nobody offers (with every reason),
// cancelled.
Result<Choice> choose_tactics(Program* program, const std::vector<const Provider*>& providers,
                              const ChooseOptions& options);

// Packs constants as the chosen kernels want them and drops constants that nothing uses any more.
Status pack_constants(Program* program, const std::vector<const Provider*>& providers, const Limits& limits);

// True when both layouts put the elements of tensor `index` in the same order (one channel, or one point per channel),
// whatever the profile. `desc`: as a step describes it.
bool same_memory(const Program& program, int32_t index, const TensorDesc& desc, Layout a, Layout b);

}  // namespace wootz
