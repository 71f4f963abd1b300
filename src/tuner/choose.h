// The graph's choice: one candidate per step and one layout per tensor, with the cost of reformats between them
// counted.
#pragma once

#include "tuner/choice.h"

namespace wootz {

// From offers with their costs (offers.h): fills in tactics and layouts and inserts `reformat` steps. Errors: a step
// all of whose candidates are refused when they are run, cancelled.
Status choose_among(Program* program, const std::vector<const Provider*>& providers, const ChooseOptions& options,
                    Choice* choice);

// Offers, their costs and the choice, in one.
Result<Choice> choose_tactics(Program* program, const std::vector<const Provider*>& providers,
                              const ChooseOptions& options);

}  // namespace wootz
