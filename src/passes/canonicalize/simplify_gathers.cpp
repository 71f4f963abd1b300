// Gathers that take every element in its order are reshapes: exporters of attention masks write one by a grid of
// counted positions. And a count is never below zero.
#include "ops/infer.h"
#include "ops/registry.h"
#include "passes/attention/heads.h"
#include "passes/pass.h"
#include "passes/support/known_scalar.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

// Through what only changes the shape.
const Value* unshaped(const Value* value) {
  for (int step = 0; step < 8 && value->producer() != nullptr; ++step) {
    if (!is_reshape(*value->producer())) break;
    value = value->producer()->input(0);
  }
  return value;
}

// 0, 1, 2, ...: how many; nullopt when the value is not counted so.
std::optional<Dim> counted(const Value* value) {
  const Node* node = value->producer();
  if (node == nullptr || !node->is("Range") || value->rank() != 1) return std::nullopt;
  if (known_scalar(node->input(0)) != 0.0 || known_scalar(node->input(2)) != 1.0) return std::nullopt;
  return value->shape()[0];
}

// Component k of the positions counts along one axis of `grid`, and that is the axis where x's axis k comes to lie.
bool counts_in_order(const Node& concat, const Shape& grid, const Shape& x) {
  size_t next = 0;
  for (int k = 0; k < concat.num_inputs(); ++k) {
    const Value* part = concat.input(k);
    const Node* node = part->producer();
    // [grid..., 1] from the grid, spread out over it, from one counted axis.
    if (node == nullptr || !is_reshape(*node) || !(node->input(0)->shape() == grid)) return false;
    const Value* spread = node->input(0);
    if (const Node* expand = spread->producer(); expand != nullptr && expand->is("Expand")) spread = expand->input(0);
    if (spread->rank() != static_cast<int>(grid.size())) return false;
    const std::optional<Dim> count = counted(unshaped(spread));
    if (!count || !(*count == x[static_cast<size_t>(k)])) return false;
    while (next < grid.size() && is_one(grid[next])) ++next;
    if (is_one(*count)) continue;
    for (size_t a = 0; a < grid.size(); ++a)
      if (!(spread->shape()[a] == (a == next ? *count : Dim(1)))) return false;
    ++next;
  }
  while (next < grid.size() && is_one(grid[next])) ++next;
  return next == grid.size();
}

bool constant_in_order(const Value* indices, const Dims& x, size_t depth) {
  const HostTensor& t = indices->constant();
  int64_t all = 1;
  for (size_t k = 0; k < depth; ++k) all *= x[k];
  if (t.volume() != all * static_cast<int64_t>(depth)) return false;
  for (int64_t i = 0; i < all; ++i) {
    int64_t rest = i;
    for (size_t k = depth; k-- > 0; rest /= x[k]) {
      const int64_t index = t.get_i64(i * static_cast<int64_t>(depth) + static_cast<int64_t>(k));
      if (index != rest % x[k] && index != rest % x[k] - x[k]) return false;
    }
  }
  return true;
}

Result<bool> in_order(Graph& graph, Node* node) {
  if (!node->is("GatherND") || node->attr_int("batch_dims") != 0 || node->has_attr("epilogue")) return false;
  Value *x = node->input(0), *indices = node->input(1);
  if (indices->rank() < 2 || !indices->shape().back().is_const()) return false;
  const auto depth = static_cast<size_t>(indices->shape().back().value());
  if (depth < 1 || depth > x->shape().size()) return false;
  bool ordered = false;
  if (indices->is_constant()) {
    const std::optional<Dims> dims = to_dims(x->shape());
    ordered = dims && constant_in_order(indices, *dims, depth);
  } else if (const Node* concat = indices->producer(); concat != nullptr && concat->is("Concat")) {
    const int64_t axis = concat->attr_int("axis", 0);
    const Shape grid(indices->shape().begin(), indices->shape().end() - 1);
    ordered = (axis == -1 || axis == indices->rank() - 1) && concat->num_inputs() == static_cast<int>(depth) &&
              counts_in_order(*concat, grid, x->shape());
  }
  if (!ordered) return false;
  const auto target = reshape_target(x->shape(), node->output()->shape());
  if (!target && node->output()->shape().size() < 2) return false;
  Value* y = nullptr;
  if (target) {
    WOOTZ_ASSIGN_OR_RETURN(y, add_reshape(graph, x, *target, node));
  } else {
    // Several extents that are only known at run time: as axes of 1 put in between.
    std::vector<int64_t> axes;
    size_t have = 0;
    const Shape &to = node->output()->shape(), &from = x->shape();
    for (size_t i = 0; i < to.size(); ++i)
      if (have < from.size() && to[i] == from[have])
        ++have;
      else if (is_one(to[i]))
        axes.push_back(static_cast<int64_t>(i));
      else
        return false;
    if (have != from.size()) return false;
    Node* made =
        graph.add_node(op("Unsqueeze"), graph.unique_name(node->name()), {x}, {{"axes", std::move(axes)}}, 1, node);
    WOOTZ_RETURN_IF_ERROR(infer_node(*made));
    y = made->output();
  }
  if (!(y->shape() == node->output()->shape())) return false;
  y->producer()->add_provenance(*node);
  take_place(graph, node->output(), y);
  return true;
}

// Every position of an axis, in its order.
Result<bool> whole_axis(Graph& graph, Node* node) {
  Value *x = node->input(0), *indices = node->input(1);
  if (node->has_attr("epilogue") || !indices->is_constant() || x->is_constant() || node->output()->shape_values())
    return false;
  const int64_t given = node->attr_int("axis", 0);
  const Dim& extent = x->shape()[static_cast<size_t>(given < 0 ? given + x->rank() : given)];
  if (!extent.is_const() || !constant_in_order(indices, Dims{extent.value()}, 1)) return false;
  const auto target = reshape_target(x->shape(), node->output()->shape());
  if (!target) return false;
  WOOTZ_ASSIGN_OR_RETURN(Value * y, add_reshape(graph, x, *target, node));
  y->producer()->add_provenance(*node);
  take_place(graph, node->output(), y);
  return true;
}

// count >= 0 holds everywhere.
Result<bool> never_below(Graph& graph, Node* node) {
  if (!node->is("GreaterOrEqual") || node->has_attr("epilogue")) return false;
  const std::optional<double> bound = known_scalar(node->input(1));
  Value* x = node->input(0);
  if (!bound || *bound > 0 || !counted(unshaped(x)) || !(x->shape() == node->output()->shape())) return false;
  WOOTZ_ASSIGN_OR_RETURN(HostTensor yes, HostTensor::allocate(DType::kBool, {}));
  yes.set_i64(0, 1);
  Node* shape = graph.add_node(op("Shape"), graph.unique_name("shape"), {x}, {}, 1, node);
  WOOTZ_RETURN_IF_ERROR(infer_node(*shape));
  Value* one = graph.add_constant(graph.unique_name("true"), std::move(yes));
  Node* made = graph.add_node(op("Expand"), graph.unique_name(node->name()), {one, shape->output()}, {}, 1, node);
  WOOTZ_RETURN_IF_ERROR(infer_node(*made));
  if (!(made->output()->shape() == node->output()->shape())) {
    erase_if_dead(graph, made);
    return false;
  }
  made->add_provenance(*node);
  take_place(graph, node->output(), made->output());
  return true;
}

}  // namespace

Result<bool> simplify_gathers(Graph& graph) {
  bool changed = false;
  std::vector<int> ids;
  for (const Node* node = graph.first(); node != nullptr; node = node->next())
    if (node->is("GatherND") || node->is("Gather") || node->is("GreaterOrEqual")) ids.push_back(node->output()->id());
  for (const int id : ids) {
    const Value* value = graph.value_by_id(id);
    if (value == nullptr || value->producer() == nullptr) continue;
    Node* node = value->producer();
    WOOTZ_ASSIGN_OR_RETURN(const bool done, node->is("GatherND") ? in_order(graph, node)
                                            : node->is("Gather") ? whole_axis(graph, node)
                                                                 : never_below(graph, node));
    changed = changed || done;
  }
  return changed;
}

}  // namespace wootz
