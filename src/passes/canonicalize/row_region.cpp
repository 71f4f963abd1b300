#include "passes/canonicalize/row_region.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "ir/op_def.h"
#include "ops/attention/attention_view.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

constexpr size_t kMaxRows = 4096;  // values of a region
constexpr int kOperands = 3;       // of an attention: query, key and value

bool plain(const Node& node, std::string_view op_name) { return node.is(op_name) && !node.has_attr("epilogue"); }

// Finds what belongs to a region, value by value.
class Finder {
 public:
  Finder(const Graph& graph, const RowAxes& axes) : graph_(graph) { region_.axes = axes; }

  std::optional<RowRegion> run(const Value* seed) {
    if (!join(seed)) return std::nullopt;
    while (!waiting_.empty()) {
      const Value* value = waiting_.back();
      waiting_.pop_back();
      if (!take_producer(*value)) return std::nullopt;
      for (const Use& use : value->uses())
        if (!take_reader(*value, use)) return std::nullopt;
    }
    if (region_.vanishing == 0) return std::nullopt;
    return std::move(region_);
  }

 private:
  // Inputs and outputs of the graph are as they are.
  bool join(const Value* value) {
    const std::optional<RowForm> form = row_form(value->shape(), region_.axes);
    if (!form || value->kind() != ValueKind::kNodeOutput || graph_.is_output(value)) return false;
    const auto [at, added] = region_.rows.emplace(value, *form);
    if (added) waiting_.push_back(value);
    return region_.rows.size() <= kMaxRows;
  }

  // A node has one role: none gives rows of the region and takes them in another one.
  bool has_role(const Node& node, RegionRole role) { return region_.nodes.emplace(&node, role).first->second == role; }

  bool take_inside(const Node& node, RowForm form) {
    std::optional<RowWise> reads = row_wise(node, form, region_.axes);
    if (!reads || !has_role(node, RegionRole::kInside)) return false;
    const auto joins = [&](const Value* value) { return join(value); };
    const bool all = std::all_of(reads->rows.begin(), reads->rows.end(), [&](int i) { return join(node.input(i)); }) &&
                     std::all_of(node.outputs().begin(), node.outputs().end(), joins);
    region_.reads.emplace(&node, std::move(*reads));
    return all;
  }

  // `given`: the region's rows are its result.
  bool take_transpose(const Node& node, const Value& value, bool given) {
    if (region_.rows.at(&value) != RowForm::kTwo || !region_.nodes.emplace(&node, RegionRole::kTranspose).second)
      return false;
    if (!is_identity(exchanged(permutation(node), given))) return true;
    ++region_.vanishing;
    // What is left in its place has one name: equal transpositions are one by now, and pairs are none.
    return given || (!plain(*value.producer(), "Transpose") && ends_.insert(&value).second);
  }

  bool take_attention(const Node& node, const Value& value) {
    return region_.rows.at(&value) == RowForm::kTwo && value.rank() == 3 && has_role(node, RegionRole::kAttention);
  }

  bool take_producer(const Value& value) {
    const Node& node = *value.producer();
    const RowForm form = region_.rows.at(&value);
    if (region_.nodes.count(&node) != 0 && region_.nodes.at(&node) == RegionRole::kInside) return true;
    if (plain(node, "Transpose")) return take_transpose(node, value, true);
    if (plain(node, "Attention"))
      return node.num_outputs() == 1 && node.attr_int("merged") != 0 && take_attention(node, value);
    if (is_reshape(node))
      return keeps_rows(node, region_.axes) && has_role(node, RegionRole::kReshape) && join(node.input(0));
    return take_inside(node, form);
  }

  bool take_reader(const Value& value, const Use& use) {
    const Node& node = *use.node;
    const RowForm form = region_.rows.at(&value);
    if (plain(node, "Transpose")) return take_transpose(node, value, false);
    if (plain(node, "Attention"))
      return use.index < kOperands && node.has_attr(ops::view_attr(use.index)) && node.num_outputs() == 1 &&
             take_attention(node, value);
    if (is_reshape(node))
      return use.index == 0 && keeps_rows(node, region_.axes) && has_role(node, RegionRole::kReshape) &&
             join(node.output());
    return take_inside(node, form) &&
           std::count(region_.reads.at(&node).rows.begin(), region_.reads.at(&node).rows.end(), use.index) == 1;
  }

  const Graph& graph_;
  RowRegion region_;
  std::vector<const Value*> waiting_;
  std::unordered_set<const Value*> ends_;  // that a transposition reads which vanishes
};

}  // namespace

std::vector<int64_t> exchanged(std::vector<int64_t> perm, bool of_result) {
  if (of_result) {
    std::swap(perm[0], perm[1]);
    return perm;
  }
  for (int64_t& axis : perm) axis = axis < 2 ? 1 - axis : axis;
  return perm;
}

std::optional<RowRegion> find_row_region(const Graph& graph, const Value* seed) {
  if (seed->rank() < 3) return std::nullopt;
  const RowAxes axes{seed->shape()[0], seed->shape()[1]};
  const auto single = [](const Dim& d) { return d.is_const() && d.value() <= 1; };
  if (single(axes.outer) || single(axes.inner)) return std::nullopt;
  return Finder(graph, axes).run(seed);
}

}  // namespace wootz
