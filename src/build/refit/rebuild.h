// A refittable plan with other weights: the build that it came from, run again without choosing anything.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/refit.h"
#include "build/settings.h"

namespace wootz {

// What is different in a program with other weights: all else of it, shapes and memory included, is as it was.
struct RefitChange {
  std::shared_ptr<const RefitRecipe> recipe;                      // with the new weights
  std::vector<std::pair<ConstantIndex, PlanConstant>> constants;  // with their bytes
  std::vector<std::pair<size_t, Problem>> steps;  // by number: parameters that came from weights (scales, factors)
};

// `recipe` is that of `program` with new constants. Errors: kInvalidState where the program is not of the same form
// with these weights, because the build made use of the old ones' values; names the layer.
Result<RefitChange> rebuild(const Program& program, std::shared_ptr<const RefitRecipe> recipe, int device_number,
                            const BuildServices& services = {});

// The plan with these weights, for who writes it.
std::shared_ptr<Program> changed_program(const Program& program, RefitChange change);

}  // namespace wootz
