// The candidates of every step: who would compute it, and what that costs.
#pragma once

#include "tuner/choice.h"

namespace wootz {

// Asks every provider for every distinct problem, once. Nothing is measured; EvaluatedCandidate::us are estimates.
Choice gather_offers(const Program& program, const std::vector<const Provider*>& providers,
                     const ChooseOptions& options);

// Costs them by ChooseOptions::cost, in the order of the steps. Errors: a step all of whose candidates are refused
// (with every reason), cancelled.
Status cost_offers(const Program& program, const ChooseOptions& options, Choice* choice);

}  // namespace wootz
