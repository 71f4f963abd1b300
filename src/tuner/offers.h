// The candidates of every step: who would compute it, and what that costs.
#pragma once

#include "tuner/choice.h"

namespace wootz {

// Asks every provider for every distinct problem, once, and those that can be asked so on several threads. Nothing is
// measured; EvaluatedCandidate::us are estimates. The same offers in the same order whatever the threads. Errors:
// cancelled.
Result<Choice> gather_offers(const Program& program, const std::vector<const Provider*>& providers,
                             const ChooseOptions& options);

// Has ChooseOptions::prepare get ready for all of them, then costs them by ChooseOptions::cost, in the order of the
// steps. Errors: a step all of whose candidates are refused (with every reason), cancelled.
Status cost_offers(const Program& program, const ChooseOptions& options, Choice* choice);

}  // namespace wootz
