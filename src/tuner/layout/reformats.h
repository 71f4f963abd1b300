// Steps that only move a tensor to another layout, or to another place: choosing puts them between steps that disagree.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "backend/program.h"

namespace wootz {

inline constexpr std::string_view kReformatName = "reformat ";  // begins the names of such steps
// Without tensors and tactic.
Step reformat_step(const std::string& name, TensorDesc desc, Layout from, Layout to);

// The kernels that providers offer for reformats. Each distinct reformat is asked for once.
class ReformatOffers {
 public:
  ReformatOffers(const std::vector<const Provider*>& providers, const Limits& limits)
      : providers_(providers), limits_(limits) {}
  // Null: no provider offers it.
  const Candidate* find(const Problem& reformat);
  const Candidate* copy(const TensorDesc& desc) {
    return find(reformat_step("", desc, desc.layout, desc.layout).problem);
  }

 private:
  const std::vector<const Provider*>& providers_;
  const Limits& limits_;
  std::unordered_map<std::string, std::vector<Candidate>> offers_;  // by problem
};

// True when both layouts put the elements of tensor `index` in the same order (one channel, or one point per channel),
// whatever the profile. `desc`: as a step describes it.
bool same_memory(const Program& program, TensorIndex index, const TensorDesc& desc, Layout a, Layout b);

// A tensor of the program as problems describe it: extents at the first profile's optimum and at its maximum.
TensorDesc desc_of(const Program& program, TensorIndex tensor);

// Inserts the reformats that the layouts in the steps' problems ask for; returns how many.
Result<size_t> insert_reformats(Program* program, const std::vector<const Provider*>& providers, const Limits& limits);

}  // namespace wootz
