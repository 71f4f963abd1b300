#include "plan/strip.h"

#include <algorithm>

#include "backend/refit.h"
#include "base/mapped.h"
#include "plan/digest.h"
#include "plan/plan_limits.h"

namespace wootz {
namespace {

void drop_constants(Program* program) {
  program->stripped = true;
  for (PlanConstant& c : program->constants) {
    c.owner = nullptr;
    c.data = nullptr;
    c.make = nullptr;
  }
  for (Program& body : program->bodies) drop_constants(&body);
}

void drop_weights(RefitRecipe* recipe) {
  for (const RefitWeight& weight : recipe->weights) {
    RefitConstant& c = recipe->constants[static_cast<size_t>(weight.constant)];
    if (!weight.refittable || c.stripped) continue;
    if (recipe->identical) c.digest = tree_digest({static_cast<const std::byte*>(c.data), c.bytes});
    c.stripped = true;
    c.owner = nullptr;
    c.data = nullptr;
  }
}

size_t largest_constant(const Program& program) {
  size_t bytes = 0;
  for (const PlanConstant& c : program.constants) bytes = std::max(bytes, c.bytes);
  for (const Program& body : program.bodies) bytes = std::max(bytes, largest_constant(body));
  return bytes;
}

void point_to(const MappedFile& zeros, Program* program) {
  for (PlanConstant& c : program->constants) {
    c.owner = zeros.owner;
    c.data = zeros.bytes.data();
  }
  for (Program& body : program->bodies) point_to(zeros, &body);
}

}  // namespace

Result<Program> strip_weights(const Program& program) {
  if (program.refit == nullptr)
    return make_error(Code::kInvalidState, "weights can be left out of refittable plans only");
  Program stripped = program;
  drop_constants(&stripped);
  auto recipe = std::make_shared<RefitRecipe>(*program.refit);
  drop_weights(recipe.get());
  stripped.refit = std::move(recipe);
  return stripped;
}

Status give_zeros(Program* program) {
  const size_t bytes = largest_constant(*program);
  if (bytes > plan_limits::kMaxBlobBytes)
    return make_error(Code::kResourceExhausted, "plan: a constant of {} bytes, the limit is {}", bytes,
                      plan_limits::kMaxBlobBytes);
  if (bytes == 0) return {};
  WOOTZ_ASSIGN_OR_RETURN(const MappedFile zeros, map_zeros(bytes));
  point_to(zeros, program);
  return {};
}

}  // namespace wootz
