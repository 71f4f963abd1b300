// From profiles, which speak of inputs, to ranges of the graph's symbols.
#include <algorithm>

#include "build/profiles.h"
#include "ops/infer.h"
#include "passes/canonicalize/decide_branches.h"

namespace wootz {
namespace {

constexpr int64_t kMostTrackedValues = 64;

// Meets `range` with another one for the same symbol.
Status meet(SymbolRange* range, const SymbolRange& other, const std::string& input, const std::string& symbol,
            size_t profile) {
  if (range->min < 0) {
    *range = other;
    return Status();
  }
  const int64_t low = std::max(range->min, other.min), high = std::min(range->max, other.max);
  if (low > high)
    return invalid_argument(
        "profile {}: input '{}' wants dimension '{}' in [{}, {}], another input that shares it wants [{}, {}]", profile,
        input, symbol, other.min, other.max, range->min, range->max);
  *range = {low, std::clamp(range->opt, low, high), high};
  return Status();
}

Status add_dims(const Graph& graph, const Value& input, const BuildProfile& profile, size_t number,
                std::vector<SymbolRange>* ranges) {
  const auto found = profile.dims.find(input.name());
  const bool open = std::any_of(input.shape().begin(), input.shape().end(), [](const Dim& d) { return !d.is_const(); });
  if (found == profile.dims.end()) {
    if (!open) return Status();
    return invalid_argument("profile {} has no shapes for input '{}', whose shape {} is open", number, input.name(),
                            shape_to_string(input.shape()));
  }
  const DimsRange& given = found->second;
  if (given.min.rank() != input.rank() || given.opt.rank() != input.rank() || given.max.rank() != input.rank())
    return invalid_argument("profile {}: input '{}' has shape {}; the profile gives {}, {}, {}", number, input.name(),
                            shape_to_string(input.shape()), given.min.to_string(), given.opt.to_string(),
                            given.max.to_string());
  for (size_t a = 0; a < input.shape().size(); ++a) {
    const SymbolRange range{given.min[a], given.opt[a], given.max[a]};
    if (range.min < 0 || range.min > range.opt || range.opt > range.max)
      return invalid_argument("profile {}: input '{}', dimension {}: {} <= {} <= {} does not hold", number,
                              input.name(), a, range.min, range.opt, range.max);
    const Dim& dim = input.shape()[a];
    SymbolId id = 0;
    if (dim.is_const() && (range.min != dim.value() || range.max != dim.value()))
      return invalid_argument("profile {}: dimension {} of input '{}' is {}; the profile gives {} to {}", number, a,
                              input.name(), dim.value(), range.min, range.max);
    if (!dim.is_symbol(&id)) continue;
    const auto s = static_cast<size_t>(id);
    WOOTZ_RETURN_IF_ERROR(meet(&(*ranges)[s], range, input.name(), graph.symbols()[s].name, number));
  }
  return Status();
}

void collect(const Graph& graph, std::vector<SymbolId>* symbols, int depth) {
  const auto from_value = [&](const Value* value) {
    for (const Dim& d : value->shape()) d.collect_symbols(symbols);
  };
  for (const Node* node = graph.first(); node != nullptr; node = node->next()) {
    for (const Value* out : node->outputs())
      if (out != nullptr) from_value(out);
    // What decides a branch decides shapes, and what is asserted of extents is checked with them.
    if ((node->is("If") || node->is("Require") || node->is("Assert")) && node->input(0) != nullptr &&
        node->input(0)->shape_values())
      for (const Dim& d : *node->input(0)->shape_values()) d.collect_symbols(symbols);
    if (depth >= limits::kMaxSubgraphDepth) continue;
    for (const auto& [name, attr] : node->attrs())
      if (const auto* inner = std::get_if<std::shared_ptr<Graph>>(&attr); inner != nullptr && *inner != nullptr)
        collect(**inner, symbols, depth + 1);
  }
}

// Inputs whose values every profile gives, as lists of the right length without negative numbers.
std::vector<Value*> inputs_with_values(const Graph& graph, const std::vector<BuildProfile>& profiles) {
  std::vector<Value*> inputs;
  for (Value* input : graph.inputs()) {
    if (profiles.empty() || input->rank() > 1) continue;
    if (input->dtype() != DType::kI32 && input->dtype() != DType::kI64) continue;
    const Dim count = volume(input->shape());
    if (!count.is_const() || count.value() > kMostTrackedValues) continue;
    const bool all = std::all_of(profiles.begin(), profiles.end(), [&](const BuildProfile& profile) {
      const auto found = profile.values.find(input->name());
      if (found == profile.values.end()) return false;
      const ValuesRange& v = found->second;
      const auto fits = [&](const std::vector<int64_t>& list) {
        return static_cast<int64_t>(list.size()) == count.value() &&
               std::all_of(list.begin(), list.end(), [](int64_t e) { return e >= 0; });
      };
      return fits(v.min) && fits(v.opt) && fits(v.max);
    });
    if (all) inputs.push_back(input);
  }
  return inputs;
}

}  // namespace

namespace {

Status infer_types(Graph& graph, const std::vector<BuildProfile>& profiles) {
  const std::vector<Value*> candidates = inputs_with_values(graph, profiles);
  for (Value* input : candidates) {
    std::vector<Dim> values;
    const int64_t count = volume(input->shape()).value();
    for (int64_t e = 0; e < count; ++e) {
      Symbol symbol;
      symbol.name = fmt::format("{}[{}]", input->name(), e);
      symbol.kind = SymbolKind::kInputValue;
      symbol.value_id = input->id();
      symbol.index = static_cast<int>(e);
      values.push_back(Dim::symbol(graph.add_symbol(std::move(symbol))));
    }
    input->set_shape_values(std::move(values));
  }
  WOOTZ_RETURN_IF_ERROR(infer_graph(graph));
  if (candidates.empty()) return Status();
  std::vector<SymbolId> used;
  collect(graph, &used, 0);
  bool again = false;
  for (Value* input : candidates) {
    const bool decides = std::any_of(used.begin(), used.end(), [&](SymbolId id) {
      const Symbol& symbol = graph.symbols()[static_cast<size_t>(id)];
      return symbol.kind == SymbolKind::kInputValue && symbol.value_id == input->id();
    });
    if (decides) continue;
    input->set_shape_values(std::nullopt);  // ordinary data after all
    again = true;
  }
  return again ? infer_graph(graph) : Status();
}

}  // namespace

Status infer_with_profiles(Graph& graph, const std::vector<BuildProfile>& profiles) {
  WOOTZ_RETURN_IF_ERROR(infer_types(graph, profiles));
  WOOTZ_ASSIGN_OR_RETURN(const auto all, symbol_ranges(graph, profiles));
  std::vector<ProfileRanges> ranges;
  for (const std::vector<SymbolRange>& profile : all) {
    ranges.emplace_back();
    for (const SymbolRange& r : profile)
      ranges.back().push_back(r.min < 0 ? std::nullopt : std::optional(DimRange{r.min, r.max}));
  }
  return decide_branches(graph, ranges).status();
}

Result<std::vector<std::vector<SymbolRange>>> symbol_ranges(const Graph& graph,
                                                            const std::vector<BuildProfile>& profiles) {
  if (profiles.empty()) {
    for (const Value* input : graph.inputs())
      for (const Dim& d : input->shape())
        if (!d.is_const())
          return invalid_argument("input '{}' has the open shape {}: the build needs an optimization profile",
                                  input->name(), shape_to_string(input->shape()));
  }
  std::vector<std::vector<SymbolRange>> all(std::max<size_t>(1, profiles.size()));
  for (size_t p = 0; p < all.size(); ++p) {
    all[p].resize(graph.symbols().size());
    if (p >= profiles.size()) continue;
    for (const auto& [name, range] : profiles[p].dims) {
      const bool known = std::any_of(graph.inputs().begin(), graph.inputs().end(),
                                     [&, &wanted = name](const Value* v) { return v->name() == wanted; });
      if (!known) return invalid_argument("profile {} gives shapes for '{}', which is no input", p, name);
    }
    for (const Value* input : graph.inputs()) WOOTZ_RETURN_IF_ERROR(add_dims(graph, *input, profiles[p], p, &all[p]));
    for (size_t s = 0; s < all[p].size(); ++s) {
      const Symbol& symbol = graph.symbols()[s];
      if (symbol.kind != SymbolKind::kInputValue) continue;
      const Value* input = graph.value_by_id(symbol.value_id);
      if (input == nullptr) continue;
      const auto found = profiles[p].values.find(input->name());
      if (found == profiles[p].values.end()) continue;
      const auto e = static_cast<size_t>(symbol.index);
      const ValuesRange& v = found->second;
      if (e >= v.min.size() || e >= v.opt.size() || e >= v.max.size()) continue;
      if (v.min[e] > v.opt[e] || v.opt[e] > v.max[e])
        return invalid_argument("profile {}: input '{}', value {}: {} <= {} <= {} does not hold", p, input->name(), e,
                                v.min[e], v.opt[e], v.max[e]);
      all[p][s] = {v.min[e], v.opt[e], v.max[e]};
    }
  }
  return all;
}

}  // namespace wootz
