#include "backend/kernel_cache.h"

#include <unordered_set>

#include "backend/control.h"
#include "backend/providers.h"

namespace wootz {
namespace {

std::string key_of(const Tactic& tactic, const Problem& problem) { return tactic.to_string() + '\n' + problem.key(); }

}  // namespace

Result<std::shared_ptr<const Kernel>> KernelCache::create(const Tactic& tactic, const Problem& problem) {
  const Provider* const provider = provider_named(tactic.provider, providers_);
  if (provider == nullptr) return unsupported("this runtime has no tactic source '{}'", tactic.provider);
  ++created_;
  WOOTZ_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, provider->create(tactic, problem, limits_));
  return std::shared_ptr<const Kernel>(std::move(kernel));
}

Result<std::shared_ptr<const Kernel>> KernelCache::find_or_create(const Tactic& tactic, const Problem& problem) {
  if (const auto found = made_.find(key_of(tactic, problem)); found != made_.end()) return found->second;
  return create(tactic, problem);
}

Result<std::shared_ptr<const Kernel>> KernelCache::get(const Step& step) {
  if (is_control(step)) return std::shared_ptr<const Kernel>(control_placeholder());
  std::string key = key_of(step.tactic, step.problem);
  if (const auto found = made_.find(key); found != made_.end()) return found->second;
  Result<std::shared_ptr<const Kernel>> kernel = create(step.tactic, step.problem);
  if (!kernel.ok())
    return kernel.status().at(PlaceKind::kLayer, step.name, fmt::format("({})", step.tactic.to_string()));
  made_.emplace(std::move(key), *kernel);
  return kernel;
}

void KernelCache::keep(const Tactic& tactic, const Problem& problem, std::shared_ptr<const Kernel> kernel) {
  made_[key_of(tactic, problem)] = std::move(kernel);
}

void KernelCache::drop(const Tactic& tactic, const Problem& problem) { made_.erase(key_of(tactic, problem)); }

void KernelCache::keep_only(const std::vector<const Program*>& programs) {
  std::unordered_set<std::string> used;
  for (const Program* program : programs)
    for (const Step& step : program->steps) used.insert(key_of(step.tactic, step.problem));
  std::erase_if(made_, [&](const auto& made) { return used.count(made.first) == 0; });
}

}  // namespace wootz
