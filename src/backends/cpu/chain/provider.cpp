#include "backends/cpu/chain/provider.h"

#include <algorithm>

#include "backends/cpu/chain/kernel.h"
#include "backends/cpu/chain/rows.h"
#include "base/cpu_info.h"
#include "base/thread_pool.h"

namespace wootz::cpu {
namespace {

constexpr int64_t kBandBytes[] = {192 << 10, 768 << 10};  // of middle rows, so that they stay in the second-level cache
constexpr size_t kMostWhole = 8;                          // offers of one kind: each is measured

std::string chain_name(const Problem& p) {
  const auto& chain = p.as<ChainParams>();
  const auto part = [](const FamilyParamsBox& box) {
    return box.get() == nullptr ? "none" : family_name(family_of(box.get()->params));
  };
  return fmt::format("chain_{}_{}", part(chain.first), part(chain.second));
}

// Without the instruction set.
std::string kernel_name(const Problem& p, const ChainPlan& plan, Layout result) {
  return fmt::format("{}_{}_{}", chain_name(p), plan.rows == 0 ? "whole" : "rows", layout_name(result));
}

struct Pair {
  const Candidate *first, *second;
  double us() const { return first->estimate_us + second->estimate_us; }
};

// Offers for the parts that meet in one layout, the likely ones first.
std::vector<Pair> pairs_of(const std::vector<Candidate>& first, const std::vector<Candidate>& second) {
  std::vector<Pair> pairs;
  for (const Candidate& a : first)
    for (const Candidate& b : second)
      if (a.output_layouts[0] == b.input_layouts[0]) pairs.push_back({&a, &b});
  std::stable_sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) { return a.us() < b.us(); });
  return pairs;
}

std::vector<Candidate> offers_for(const Problem& problem, const Limits& limits, std::vector<Refusal>* refusals) {
  std::vector<Candidate> offers;
  for (const Provider* provider : part_providers()) provider->tactics(problem, limits, &offers, refusals);
  return offers;
}

Candidate offer_of(const Problem& problem, const Pair& pair, const ChainPlan& plan, const Limits& limits) {
  Candidate c;
  const std::string name = kernel_name(problem, plan, pair.second->output_layouts[0]);
  c.tactic = {"chain", fmt::format("{}_{}", name, isa_name(usable_isa(limits.isa_cap))), plan.to_string()};
  c.input_layouts = pair.first->input_layouts;
  c.input_layouts.insert(c.input_layouts.end(), pair.second->input_layouts.begin() + 1,
                         pair.second->input_layouts.end());
  c.output_layouts = pair.second->output_layouts;
  return c;
}

// At the largest extents, where the weights are as given: their form does not change what a call needs.
Result<size_t> workspace_of(const Problem& problem, const Candidate& candidate, const ChainPlan& plan,
                            const ChainParts& parts, const Pair& pair, const Limits& limits) {
  const TensorDesc& middle = parts.first.outputs[0];
  if (plan.rows == 0)
    return layout_bytes(plan.middle, middle.dtype, middle.max_dims) +
           std::max(pair.first->workspace, pair.second->workspace) + 128;
  Problem filled = problem;
  fill_layouts(candidate, &filled);
  WOOTZ_RETURN_IF_ERROR(make_chain_kernel(filled, plan, limits).status());
  Dims rows = middle.max_dims;
  WOOTZ_ASSIGN_OR_RETURN(const WindowAxis window, window_axis(parts.second, 2));
  rows[0] = 1;
  rows[2] = std::min(rows[2], (plan.rows - 1) * window.stride + window.span());
  const size_t each =
      layout_bytes(plan.middle, middle.dtype, rows) + std::max(pair.first->workspace, pair.second->workspace) + 192;
  return each * static_cast<size_t>(std::max(1, limits.threads)) + 64;
}

class ChainProvider final : public Provider {
 public:
  const char* name() const override { return "chain"; }
  std::string version() const override {
    std::string text = "1";
    for (const Provider* provider : part_providers())
      text += fmt::format(",{} {}", provider->name(), provider->version());
    return text;
  }

  void tactics(const Problem& problem, const Limits& limits, std::vector<Candidate>* offers,
               std::vector<Refusal>* refusals) const override {
    if (problem.family() != Family::kChain) return;
    const Result<ChainParts> parts = chain_parts(problem);
    if (!parts.ok()) {
      refusals->push_back({"chain", parts.status().message()});
      return;
    }
    if (parts->first.is(Family::kMove) || parts->first.is(Family::kNorm) || problem.outputs.size() != 1) {
      refusals->push_back({"chain", "a concatenation or a normalization is a step of its own"});
      return;
    }
    const std::vector<Candidate> first = offers_for(parts->first, limits, refusals);
    const std::vector<Candidate> second = offers_for(parts->second, limits, refusals);
    double whole_us = 0;
    size_t count = 0;
    for (const Pair& pair : pairs_of(first, second)) {
      if (count == kMostWhole) break;
      const ChainPlan plan{0, pair.first->output_layouts[0], pair.first->tactic, pair.second->tactic};
      count += offer(problem, plan, *parts, pair, pair.us(), limits, offers, refusals);
      if (whole_us == 0) whole_us = pair.us();
    }
    offer_rows(problem, *parts, whole_us, limits, offers, refusals);
  }

  Result<std::unique_ptr<Kernel>> create(const Tactic& tactic, const Problem& problem,
                                         const Limits& limits) const override {
    WOOTZ_ASSIGN_OR_RETURN(const ChainPlan plan, ChainPlan::parse(tactic.config));
    if (problem.outputs.size() != 1 ||
        !tactic.kernel.starts_with(kernel_name(problem, plan, problem.outputs[0].layout) + "_"))
      return invalid_argument("chain: kernel '{}' is not of this problem", tactic.kernel);
    return make_chain_kernel(problem, plan, limits);
  }

 private:
  bool offer(const Problem& problem, const ChainPlan& plan, const ChainParts& parts, const Pair& pair, double us,
             const Limits& limits, std::vector<Candidate>* offers, std::vector<Refusal>* refusals) const {
    Candidate c = offer_of(problem, pair, plan, limits);
    const Result<size_t> workspace = workspace_of(problem, c, plan, parts, pair, limits);
    if (!workspace.ok()) {
      refusals->push_back({c.tactic.kernel, workspace.status().message()});
      return false;
    }
    c.workspace = *workspace;
    c.estimate_us = us;
    offers->push_back(std::move(c));
    return true;
  }

  void offer_rows(const Problem& problem, const ChainParts& parts, double whole_us, const Limits& limits,
                  std::vector<Candidate>* offers, std::vector<Refusal>* refusals) const {
    const std::string name = chain_name(problem) + "_rows";
    const Status cut = can_cut(parts);
    if (!cut.ok() || whole_us == 0) {
      refusals->push_back({name, cut.ok() ? "its parts are not offered" : cut.message()});
      return;
    }
    const TensorDesc& middle = parts.first.outputs[0];
    const Dims& y = problem.outputs[0].dims;
    const int64_t x_rows = parts.first.family() == Family::kPointwise ? middle.dims[2] : parts.first.inputs[0].dims[2];
    const Result<WindowAxis> window = window_axis(parts.second, 2);
    Dims row = middle.dims;
    row[0] = row[2] = 1;
    const auto row_bytes = std::max<int64_t>(1, static_cast<int64_t>(dtype_bytes(middle.dtype, row.volume())));
    int64_t last = 0;
    for (const int64_t bytes : kBandBytes) {
      const int64_t rows = std::max<int64_t>(1, (bytes / row_bytes - window->span()) / window->stride + 1);
      if (rows == last) continue;
      last = rows;
      if (rows * std::max(1, limits.threads) > y[2] * y[0]) break;  // nothing left to share out
      const Result<std::vector<Band>> bands = cut_rows(parts, x_rows, middle.dims[2], y[2], rows);
      if (!bands.ok() || bands->empty()) continue;
      double computed = 0;  // rows of the middle
      for (const Band& band : *bands) computed += static_cast<double>(band.middle.count);
      Limits alone = limits;
      alone.threads = 1;
      const ParallelScope scope(1);
      const ChainParts inner = band_problem(parts, (*bands)[bands->size() / 2]);
      const std::vector<Candidate> first = offers_for(inner.first, alone, refusals);
      const std::vector<Candidate> second = offers_for(inner.second, alone, refusals);
      for (const Pair& pair : pairs_of(first, second)) {
        const auto last_channels = [](const Candidate& c) { return c.output_layouts[0] == Layout::kChannelsLast; };
        const auto nameless = [](const Candidate& c) { return c.tactic.config.find("any@") != std::string::npos; };
        if (!last_channels(*pair.first) || !last_channels(*pair.second) || nameless(*pair.first) ||
            nameless(*pair.second))
          continue;
        const ChainPlan plan{rows, Layout::kChannelsLast, pair.first->tactic, pair.second->tactic};
        // By estimate the whole is preferred: what two bands both read is computed twice, and what is saved is not
        // known.
        offer(problem, plan, parts, pair, whole_us * computed / static_cast<double>(middle.dims[2]) * 1.05, limits,
              offers, refusals);
      }
    }
  }
};

}  // namespace

const Provider& chain_provider() {
  static const ChainProvider provider;
  return provider;
}

}  // namespace wootz::cpu
