// Kernels of a program's steps: each distinct tactic and problem is created once, however many steps have it and
// however many parts of a build want it.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/program.h"

namespace wootz {

// Kernels are immutable, so that steps may share them. Not thread-safe itself.
class KernelCache {
 public:
  KernelCache(std::vector<const Provider*> providers, Limits limits)
      : providers_(std::move(providers)), limits_(std::move(limits)) {}

  // Errors: a tactic whose provider is unknown or that cannot be created here, with the step's name.
  Result<std::shared_ptr<const Kernel>> get(const Step& step);

  // For callers that try many of which few are used: the kernel that is there, or a new one that is not kept.
  Result<std::shared_ptr<const Kernel>> find_or_create(const Tactic& tactic, const Problem& problem);
  void keep(const Tactic& tactic, const Problem& problem, std::shared_ptr<const Kernel> kernel);
  void drop(const Tactic& tactic, const Problem& problem);
  // Drops what no step of these programs has.
  void keep_only(const std::vector<const Program*>& programs);

  size_t created() const { return created_; }  // kernels, since the beginning
  const std::vector<const Provider*>& providers() const { return providers_; }
  const Limits& limits() const { return limits_; }

 private:
  Result<std::shared_ptr<const Kernel>> create(const Tactic& tactic, const Problem& problem);

  std::vector<const Provider*> providers_;
  Limits limits_;
  std::unordered_map<std::string, std::shared_ptr<const Kernel>> made_;
  size_t created_ = 0;
};

}  // namespace wootz
