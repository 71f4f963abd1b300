// Other weights for a program, and what of its steps follows from them.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "backend/program.h"
#include "backend/refit.h"

namespace wootz {

// All else of the program, shapes and memory included, stays as it is.
struct ProgramUpdate {
  std::shared_ptr<const RefitRecipe> recipe;                      // with the new weights; null: of a body
  std::vector<std::pair<ConstantIndex, PlanConstant>> constants;  // with their bytes
  std::vector<std::pair<StepIndex, Problem>> steps;               // their problems from now on
  std::vector<ProgramUpdate> bodies;                              // one for each body

  bool empty() const { return constants.empty() && steps.empty() && bodies_empty(); }

 private:
  bool bodies_empty() const {
    for (const ProgramUpdate& body : bodies)
      if (!body.empty()) return false;
    return true;
  }
};

inline void apply(ProgramUpdate update, Program* program) {
  for (auto& [number, constant] : update.constants) program->constants[number] = std::move(constant);
  for (auto& [number, problem] : update.steps) program->steps[number].problem = std::move(problem);
  program->refit = std::move(update.recipe);
  program->stripped = false;
  for (size_t b = 0; b < update.bodies.size(); ++b) apply(std::move(update.bodies[b]), &program->bodies[b]);
}

}  // namespace wootz
