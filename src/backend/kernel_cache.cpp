#include "backend/kernel_cache.h"

#include <algorithm>

#include "backend/control.h"

namespace wootz {

Result<std::shared_ptr<const Kernel>> KernelCache::get(const Step& step) {
  if (is_control(step)) return std::shared_ptr<const Kernel>(control_placeholder());
  std::string key = step.tactic.to_string() + '\n' + step.problem.key();
  if (const auto found = made_.find(key); found != made_.end()) return found->second;
  const auto provider = std::find_if(providers_.begin(), providers_.end(),
                                     [&](const Provider* p) { return step.tactic.provider == p->name(); });
  if (provider == providers_.end())
    return unsupported("this runtime has no tactic source '{}'", step.tactic.provider).at(PlaceKind::kLayer, step.name);
  Result<std::unique_ptr<Kernel>> kernel = (*provider)->create(step.tactic, step.problem, limits_);
  if (!kernel.ok())
    return kernel.status().at(PlaceKind::kLayer, step.name, fmt::format("({})", step.tactic.to_string()));
  return made_[std::move(key)] = std::shared_ptr<const Kernel>(std::move(kernel).value());
}

}  // namespace wootz
