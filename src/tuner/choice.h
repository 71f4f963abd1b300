// What choosing is about, as plain data: the candidates of every step, what they cost, what became of them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backend/program.h"

namespace wootz {

struct BorderWish;  // tuner/layout/border.h

// What was considered for a step, kept as data for reports.
struct EvaluatedCandidate {
  Candidate candidate;
  size_t rivals = 0;  // other candidates of the step
  double us = 0;      // measured, or estimated
  double spread = 0;  // of the measurements, relative to `us`
  bool measured = false;
  bool known = false;       // not measured now: the timing cache knew it
  bool borrowed = false;    // measured for another problem of its class (problem_class.h)
  double error = -1;        // relative difference from the reference, -1: not checked
  std::string refusal;      // not empty: disqualified, and why
  bool over_limit = false;  // the reason is a limit on memory
  // An earlier candidate of the step (tactic_text.h) that this one's benchmark showed to be wrong, and how; empty:
  // none.
  std::string disproves, disproof;
};
struct StepReport {
  std::string step;
  std::vector<EvaluatedCandidate> evaluated;
  std::vector<Refusal> refused;  // kernels that did not apply
  int chosen = -1;               // index into evaluated
};

// A candidate that is about to be costed or proven, of a problem whose layouts are still free.
struct Wanted {
  const Problem* problem;
  StepIndex step;
  const EvaluatedCandidate* candidate;
};

// What ChooseOptions::progress reports: providers were asked for a problem, or a step was costed.
enum class Moment : uint8_t { kOffered, kCosted };

// A tactic of a step, with the problem whose layouts it has.
struct PlacedTactic {
  Problem problem;
  StepIndex step;
  Tactic tactic;
};

struct ChooseOptions {
  Limits limits;
  // Cost in microseconds of a candidate (problem with the candidate's layouts filled in); fills in EvaluatedCandidate.
  // Null: the provider's estimate. Numbers beyond the program's steps are reformats, for what they cost in the search.
  std::function<Status(const Problem& problem, StepIndex step, EvaluatedCandidate* candidate)> cost;
  // Strikes out offers of a step before they are costed, by a refusal. Null: none. Each step then has offers of its
  // own.
  std::function<Status(StepIndex step, StepReport* report)> select;
  // Offers to be taken only where there is no other. Null: none.
  std::function<bool(const Problem& problem, const Candidate& candidate)> last_resort;
  bool portable = false;             // only layouts that processors of every width have kernels for
  size_t operand_memory = SIZE_MAX;  // bytes that operands, results and scratch memory of one kernel may take
  // What each of the rivals takes together with the steps before and after it (null: there is none). Empty: no more is
  // timed. Null: tactics go by what they take alone.
  std::function<Result<std::vector<double>>(const PlacedTactic* before, const std::vector<PlacedTactic>& rivals,
                                            const PlacedTactic* after)>
      between;
  std::function<void(const std::string& line)> note;  // for a log. Null: none is kept
  // Adds further offers for a problem of free layouts. Null: providers alone are asked.
  std::function<void(const Problem& problem, std::vector<Candidate>* offers)> more;
  // Gets ready for candidates in the order in which they will be costed, or proven: makes what is dear to make for all
  // of them at once. Null: each is made when its turn comes. Errors: cancelled.
  std::function<Status(const std::vector<Wanted>& wanted)> prepare;
  int threads = 1;  // that ask providers
  // Runs a chosen candidate that was not measured now. What fails or is wrong gets a refusal, and the choice is made
  // again. Null: nothing is run. Errors: cancelled.
  std::function<Status(const Problem& problem, StepIndex step, EvaluatedCandidate* candidate)> prove;
  const std::vector<BorderWish>* border = nullptr;  // layouts of inputs and outputs that were set
  bool by_class = false;                            // problems of one class are costed once, and proven each
  std::function<void(const std::string&)> warn;     // names the layer
  // Called as the work goes on; false cancels.
  std::function<bool(size_t done, size_t total, Moment moment)> progress;
  double reformat_gb_per_s = 8;  // read + write, for reformats that are not measured (`cost` is null or fails)
};

struct Choice {
  IndexedVector<StepIndex, StepReport> steps;      // of the steps given; then of the reformats inserted
  IndexedVector<StepIndex, StepIndex> offered_to;  // the first one of its problem (or class), whose offers it shares
  size_t reformats_before = 0;                     // if every step were given the layouts of its greedy choice
  size_t reformats = 0;                            // inserted
  size_t proved = 0;                               // choices run because they had not been measured, equal ones once
  size_t disproved = 0;                            // of those, refused for what came of it
  double total_us = 0;
};

Problem with_layouts(const Problem& problem, const Candidate& candidate);
// An error that names the layer and every reason when all its candidates are refused.
Status check_usable(const Step& step, const StepReport& report);

}  // namespace wootz
