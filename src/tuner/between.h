// Tactics that take nearly the same time alone, chosen again by what they take between the steps around them: a device
// may begin a step while the one before it ends, and how much of it, no time alone tells.
#pragma once

#include "tuner/choice.h"

namespace wootz {

// Changes `chosen`, candidates by step, where ChooseOptions::between says so; layouts stay. Steps that are worth most
// come first.
Status choose_between(const Program& program, const ChooseOptions& options, const Choice& choice,
                      IndexedVector<StepIndex, int>* chosen);

}  // namespace wootz
