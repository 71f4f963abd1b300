#include "plan/verify_refit.h"

#include <algorithm>

#include "base/limits.h"
#include "plan/plan_limits.h"

namespace wootz {
namespace {

constexpr uint8_t kRoles = 6;  // of WeightsRole of the API

Status at_most(const char* what, size_t have, size_t limit) {
  if (have <= limit) return {};
  return make_error(Code::kResourceExhausted, "refit: {} of {} bytes, the limit is {}", what, have, limit);
}

Status check_constant(size_t number, const RefitConstant& c, bool may_miss) {
  if (dtype_bits(c.dtype) == 0)
    return corrupt("refit: constant {}: no element type has the number {}", number, static_cast<int>(c.dtype));
  WOOTZ_ASSIGN_OR_RETURN(const int64_t volume, checked_volume(c.dims.span()));
  if (c.stripped && !may_miss) return corrupt("refit: constant {} is missing in a plan that has its weights", number);
  if (c.bytes != dtype_bytes(c.dtype, volume) || (c.bytes != 0 && c.data == nullptr && !c.stripped))
    return corrupt("refit: constant {} of shape {} has {} bytes", number, c.dims.to_string(), c.bytes);
  return {};
}

Status check_weight(const RefitWeight& w, size_t constants) {
  WOOTZ_RETURN_IF_ERROR(at_most("a name", std::max(w.name.size(), w.layer.size()), limits::kMaxNameBytes));
  if (w.constant < 0 || static_cast<size_t>(w.constant) >= constants)
    return corrupt("refit: a weight is constant {} of {}", w.constant, constants);
  if (w.role != RefitWeight::kNoRole && w.role >= kRoles) return corrupt("refit: role {} of a weight", w.role);
  if (w.name.empty() && w.role == RefitWeight::kNoRole) return corrupt("refit: a weight without name and role");
  // C strings to the application.
  if (w.name.find('\0') != std::string::npos || w.layer.find('\0') != std::string::npos)
    return corrupt("refit: the name of a weight has a zero in it");
  return {};
}

// Each constant that is missing is one that a refitter can set.
Status check_stripped(const RefitRecipe& recipe) {
  std::vector<uint8_t> settable(recipe.constants.size(), 0);
  for (const RefitWeight& w : recipe.weights)
    if (w.refittable) settable[static_cast<size_t>(w.constant)] = 1;
  for (size_t i = 0; i < recipe.constants.size(); ++i)
    if (recipe.constants[i].stripped && settable[i] == 0)
      return corrupt("refit: constant {} is missing, and no weight brings it", i);
  return {};
}

}  // namespace

Status verify_refit(const RefitRecipe& recipe, bool stripped) {
  for (const std::string* text : {&recipe.graph, &recipe.settings, &recipe.choices})
    WOOTZ_RETURN_IF_ERROR(at_most("a text", text->size(), plan_limits::kMaxTextBytes));
  if (recipe.constants.size() > plan_limits::kMaxConstants || recipe.weights.size() > plan_limits::kMaxConstants)
    return make_error(Code::kResourceExhausted, "refit: {} constants and {} weights, the limit is {}",
                      recipe.constants.size(), recipe.weights.size(), plan_limits::kMaxConstants);
  for (size_t i = 0; i < recipe.constants.size(); ++i)
    WOOTZ_RETURN_IF_ERROR(check_constant(i, recipe.constants[i], stripped));
  for (const RefitWeight& w : recipe.weights) WOOTZ_RETURN_IF_ERROR(check_weight(w, recipe.constants.size()));
  return check_stripped(recipe);
}

}  // namespace wootz
