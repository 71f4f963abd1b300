#include "tuner/between.h"

#include <algorithm>
#include <map>
#include <optional>

#include "backend/control.h"

namespace wootz {
namespace {

constexpr double kNear = 1.15;  // times the chosen one's time alone: others are not asked for
constexpr size_t kMost = 3;     // of them
constexpr double kGain = 0.01;  // of the time of all three steps: less is chance

using Chosen = IndexedVector<StepIndex, int>;

class Between {
 public:
  Between(const Program& program, const ChooseOptions& options, const Choice& choice, Chosen* chosen)
      : program_(program), options_(options), choice_(choice), chosen_(*chosen) {}

  Status choose() {
    for (const std::vector<StepIndex>& steps : by_worth()) {
      WOOTZ_ASSIGN_OR_RETURN(const bool goes_on, choose_for(steps));
      if (!goes_on) break;
    }
    return Status();
  }

 private:
  const EvaluatedCandidate& candidate(StepIndex s, int c) const {
    return choice_.steps[s].evaluated[static_cast<size_t>(c)];
  }
  PlacedTactic placed(StepIndex s, int c) const {
    const Candidate& own = candidate(s, c).candidate;
    return {with_layouts(program_.steps[s].problem, own), s, own.tactic};
  }
  std::optional<PlacedTactic> neighbour(StepIndex s, int offset) const {
    const size_t at = s.position() + static_cast<size_t>(offset);  // before the first: beyond the last
    if (at >= program_.steps.size()) return std::nullopt;
    const StepIndex other(at);
    if (is_control(program_.steps[other]) || candidate(other, chosen_[other]).candidate.tactic.provider == "host")
      return std::nullopt;
    return placed(other, chosen_[other]);
  }

  // The chosen one first, then those of the same layouts that are nearly as fast.
  std::vector<int> rivals(StepIndex s) const {
    const EvaluatedCandidate& own = candidate(s, chosen_[s]);
    if (is_control(program_.steps[s]) || !own.measured) return {};
    std::vector<int> near;
    for (int c = 0; c < static_cast<int>(choice_.steps[s].evaluated.size()); ++c) {
      const EvaluatedCandidate& e = candidate(s, c);
      if (c != chosen_[s] && e.measured && e.refusal.empty() && e.us <= kNear * own.us &&
          same_layouts(e.candidate, own.candidate))
        near.push_back(c);
    }
    std::stable_sort(near.begin(), near.end(), [&](int a, int b) { return candidate(s, a).us < candidate(s, b).us; });
    if (near.size() > kMost) near.resize(kMost);
    if (!near.empty()) near.insert(near.begin(), chosen_[s]);
    return near;
  }

  std::string place_of(StepIndex s) const {
    std::string text = std::to_string(choice_.offered_to[s].number());
    for (const int offset : {-1, 0, 1}) {
      const auto at = offset == 0 ? placed(s, chosen_[s]) : neighbour(s, offset);
      text += '\n' + (at ? at->problem.key() + at->tactic.to_string() : "none");
    }
    return text;
  }

  // Steps of one problem that share their offers, between the same ones.
  std::vector<std::vector<StepIndex>> by_worth() const {
    std::map<std::string, std::vector<StepIndex>> alike;
    for (const StepIndex s : program_.steps.indices())
      if (!rivals(s).empty()) alike[place_of(s)].push_back(s);
    std::vector<std::vector<StepIndex>> all;
    for (auto& [place, steps] : alike) all.push_back(std::move(steps));
    const auto worth = [&](const std::vector<StepIndex>& steps) {
      return static_cast<double>(steps.size()) * candidate(steps[0], chosen_[steps[0]]).us;
    };
    std::stable_sort(all.begin(), all.end(), [&](const auto& a, const auto& b) { return worth(a) > worth(b); });
    return all;
  }

  // False: nothing more is timed.
  Result<bool> choose_for(const std::vector<StepIndex>& steps) {
    const StepIndex s = steps[0];
    const std::vector<int> all = rivals(s);
    std::vector<PlacedTactic> tactics;
    for (const int c : all) tactics.push_back(placed(s, c));
    const std::optional<PlacedTactic> before = neighbour(s, -1), after = neighbour(s, 1);
    WOOTZ_ASSIGN_OR_RETURN(const std::vector<double> us,
                           options_.between(before ? &*before : nullptr, tactics, after ? &*after : nullptr));
    if (us.size() != all.size()) return false;
    const size_t best = static_cast<size_t>(std::min_element(us.begin(), us.end()) - us.begin());
    if (best == 0 || us[best] > us[0] * (1 - kGain)) return true;
    if (options_.note)
      options_.note(
          fmt::format("layer '{}' and {} like it: {} in place of {}, {:.2f} us with the layers around it for {:.2f}",
                      program_.steps[s].name, steps.size() - 1, tactics[best].tactic.to_string(),
                      tactics[0].tactic.to_string(), us[best], us[0]));
    for (const StepIndex k : steps) chosen_[k] = all[best];
    return true;
  }

  const Program& program_;
  const ChooseOptions& options_;
  const Choice& choice_;
  Chosen& chosen_;
};

}  // namespace

Status choose_between(const Program& program, const ChooseOptions& options, const Choice& choice, Chosen* chosen) {
  if (!options.between) return Status();
  return Between(program, options, choice, chosen).choose();
}

}  // namespace wootz
