#include "tuner/cache/cache_only_selector.h"

#include <algorithm>

#include "backend/providers.h"
#include "tuner/cache/tactic_text.h"
#include "tuner/measure/problem_class.h"
#include "tuner/measure/rotation.h"

namespace wootz {

std::vector<std::pair<TimingKey, Timing>> CacheOnlySelector::of_either(const std::string& problem,
                                                                       const std::string& other) const {
  std::vector<std::pair<TimingKey, Timing>> all = cache_.of_problem(problem, isa_, limits_.threads);
  for (auto& entry : cache_.of_problem(other, isa_, limits_.threads)) all.push_back(std::move(entry));
  return all;
}

std::vector<std::pair<TimingKey, Timing>> CacheOnlySelector::entries(const Problem& problem) const {
  std::vector<std::pair<TimingKey, Timing>> kept;
  const Problem plain = without_layouts(problem);
  // What a device with memory of its own was measured for is there by class.
  const std::string own = problem_key(plain), of_class = problem_key(class_of(plain));
  std::vector<std::pair<TimingKey, Timing>> all = of_either(rotated_key(own), rotated_key(of_class));
  if (all.empty()) all = of_either(own, of_class);
  for (auto& entry : all) {
    const Provider* const provider = provider_named(entry.first.provider, providers_);
    if (provider == nullptr) continue;
    const auto same = std::find_if(kept.begin(), kept.end(), [&](const auto& k) {
      return k.first.provider == entry.first.provider && k.first.tactic == entry.first.tactic;
    });
    if (same == kept.end())
      kept.push_back(std::move(entry));
    else if (same->first.version != provider->version())
      *same = std::move(entry);
  }
  return kept;
}

void CacheOnlySelector::add_offers(const Problem& problem, std::vector<Candidate>* offers) {
  const size_t asked = offers->size();
  for (const auto& [key, timing] : entries(problem)) {
    std::optional<Candidate> candidate = tactic_from_text(problem, key.provider, key.tactic);
    if (!candidate) continue;
    const bool offered =
        std::any_of(offers->begin(), offers->begin() + static_cast<ptrdiff_t>(asked),
                    [&](const auto& o) { return o.tactic == candidate->tactic && same_layouts(o, *candidate); });
    if (offered) continue;
    const Provider* const provider = provider_named(key.provider, providers_);
    Problem filled = problem;
    for (size_t i = 0; i < filled.inputs.size(); ++i) filled.inputs[i].layout = candidate->input_layouts[i];
    for (size_t o = 0; o < filled.outputs.size(); ++o) filled.outputs[o].layout = candidate->output_layouts[o];
    if (!provider->create(candidate->tactic, filled, limits_).ok()) continue;
    offers->push_back(std::move(*candidate));
  }
}

Status CacheOnlySelector::cost(const Problem& problem, EvaluatedCandidate* candidate) {
  candidate->us = candidate->candidate.estimate_us;
  const auto known = entries(problem);
  if (known.empty()) return {};
  const std::string text = tactic_text(problem, candidate->candidate.tactic);
  const bool pins =
      obey_pins_ && std::any_of(known.begin(), known.end(), [](const auto& k) { return k.second.pinned; });
  for (const auto& [key, timing] : known) {
    if (key.provider != candidate->candidate.tactic.provider || key.tactic != text) continue;
    candidate->error = timing.error;
    candidate->refusal = timing.refusal;
    if (pins && !timing.pinned) candidate->refusal = "the timing cache pins another tactic";
    if (!candidate->refusal.empty()) return {};
    candidate->us = timing.median_us;
    candidate->measured = true;
    ++found_;
    return {};
  }
  candidate->refusal = "the timing cache knows other tactics for this problem, and not this one";
  return {};
}

}  // namespace wootz
