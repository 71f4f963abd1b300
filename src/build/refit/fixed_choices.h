// The kernels that a build has chosen, as data that a later build of the same network takes them from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backend/kernel.h"
#include "backend/program.h"
#include "tuner/choice.h"

namespace wootz {

// Of one program, of the steps as they were lowered.
using UnitChoices = IndexedVector<StepIndex, Candidate>;
// The network's, then those of the bodies (BuildSession::units).
using FixedChoices = std::vector<UnitChoices>;

UnitChoices choices_of(const Choice& choice, size_t steps);

std::string choices_to_json(const FixedChoices& choices);
// Errors: anything that choices_to_json() does not write.
Result<FixedChoices> choices_from_json(std::string_view text);

// Errors: a kernel that leaves out the zeros of 2:4 weights was chosen for weights that have none any more.
Status check_sparsity(const UnitChoices& choices, const Program& program);

// Gives the steps these tactics and layouts, and puts in the reformats that follow. Errors: steps that the choices are
// not of.
Status apply_choices(const UnitChoices& choices, const std::vector<const Provider*>& providers, const Limits& limits,
                     Program* program);

}  // namespace wootz
