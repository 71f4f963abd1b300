// Kernels of a program's steps: each distinct tactic and problem is created once, however many steps have it.
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

 private:
  std::vector<const Provider*> providers_;
  Limits limits_;
  std::unordered_map<std::string, std::shared_ptr<const Kernel>> made_;
};

}  // namespace wootz
