// The kernels of a chain: the two steps one after the other over a middle tensor in the workspace ("whole"), or band by
// band of rows with the middle rows in the cache ("rows").
#pragma once

#include "backend/chain.h"
#include "backend/kernel.h"

namespace wootz::cpu {

// How a chain is computed: a tactic's configuration, "rows=8|channels_last|onednn:conv_...|native:pool_...".
struct ChainPlan {
  int64_t rows = 0;  // of the result in a band; 0: whole
  Layout middle = Layout::kLinear;
  Tactic first, second;
  std::string to_string() const;
  static Result<ChainPlan> parse(const std::string& config);
};

// The layouts of an offer filled in.
void fill_layouts(const Candidate& candidate, Problem* problem);

Result<std::unique_ptr<Kernel>> make_chain_kernel(const Problem& problem, const ChainPlan& plan, const Limits& limits);

// Providers of the parts.
std::vector<const Provider*> part_providers();

}  // namespace wootz::cpu
