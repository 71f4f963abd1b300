#include "passes/support/row_ops.h"

#include <algorithm>

#include "ir/op_def.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

constexpr int kAll = -1;

// Ops whose rows are independent as long as none of their axes is one of the rows'. Pointwise ops need no rule.
struct Rule {
  const char* op;
  int operands;  // inputs that have the rows; kAll: each
  int weights;   // inputs after them that are the same for all rows
  const char* axis = nullptr;
  bool axes = false;  // the attribute is a list
  int64_t otherwise = 0;
};
constexpr Rule kRules[] = {
    {"MatMul", 1, 1},
    {"WeightOnlyMatMul", 1, 3},
    {"LayerNorm", 1, 0, "axis", false, -1},
    {"RMSNorm", 1, 0, "axis", false, -1},
    {"L2Norm", 1, 0, "axis", false, -1},
    {"Softmax", 1, 0, "axis", false, -1},
    {"LogSoftmax", 1, 0, "axis", false, -1},
    {"Concat", kAll, 0, "axis"},
    {"Split", 1, 0, "axis"},
    {"Slice", 1, 0, "axes", true},
    {"Reduce", 1, 0, "axes", true},
};

const Rule* rule_of(const Node& node) {
  const auto rule = std::find_if(std::begin(kRules), std::end(kRules), [&](const Rule& r) { return node.is(r.op); });
  return rule == std::end(kRules) ? nullptr : rule;
}

int count(RowForm form) { return static_cast<int>(form); }

bool has_form(const Value& value, RowForm form, const RowAxes& axes) { return row_form(value.shape(), axes) == form; }

std::vector<int64_t> axes_of(const Node& node, const Rule& rule) {
  std::vector<int64_t> axes =
      rule.axes ? node.attr_ints(rule.axis) : std::vector<int64_t>{node.attr_int(rule.axis, rule.otherwise)};
  for (int64_t& axis : axes) axis += axis < 0 ? node.input(0)->rank() : 0;
  return axes;
}

bool stays_in_rows(const Node& node, const Rule& rule, RowForm form) {
  if (rule.axis == nullptr)
    return node.attr_int("trans_a") == 0 && node.input(1)->rank() == 2 &&
           node.input(0)->rank() > count(form);  // a product by one matrix
  if (rule.axes && !node.has_attr(rule.axis)) return false;
  const std::vector<int64_t> axes = axes_of(node, rule);
  return std::all_of(axes.begin(), axes.end(), [&](int64_t axis) { return axis >= count(form); });
}

// Sorts an input that is broadcast to the result. False: it has some of the rows, but not as the result has them.
bool sort_operand(const Node& node, int index, RowForm form, const RowAxes& axes, RowWise* found) {
  const Value& value = *node.input(index);
  const int missing = node.output()->rank() - value.rank();
  if (missing < 0) return false;
  bool same = true;  // for all rows
  for (int axis = missing; axis < count(form); ++axis)
    same = same && value.shape()[static_cast<size_t>(axis - missing)] == Dim(1);
  if (same) return true;
  if (value.is_constant()) {
    found->constants.push_back(index);
    return form == RowForm::kTwo;
  }
  found->rows.push_back(index);
  return missing == 0 && has_form(value, form, axes);
}

bool is_movable(const Node& node) {
  const OpTraits& traits = node.op().traits;
  return !traits.has_side_effects && !traits.data_dependent && !traits.host_shape && node.num_outputs() >= 1 &&
         std::none_of(node.outputs().begin(), node.outputs().end(),
                      [](const Value* out) { return out == nullptr || out->shape_values().has_value(); });
}

}  // namespace

std::optional<RowForm> row_form(const Shape& shape, const RowAxes& axes) {
  if (shape.size() >= 2 && shape[0] == axes.outer && shape[1] == axes.inner) return RowForm::kTwo;
  if (!shape.empty() && shape[0] == axes.outer * axes.inner) return RowForm::kOne;
  return std::nullopt;
}

Shape exchanged_shape(const Shape& shape, RowForm form, const RowAxes& axes) {
  Shape made{axes.inner, axes.outer};
  made.insert(made.end(), shape.begin() + count(form), shape.end());
  return made;
}

std::optional<RowWise> row_wise(const Node& node, RowForm form, const RowAxes& axes) {
  const Rule* rule = rule_of(node);
  if ((rule == nullptr && node.op().lowering != Lowering::kPointwise) || !is_movable(node)) return std::nullopt;
  for (const Value* out : node.outputs())
    if (!has_form(*out, form, axes)) return std::nullopt;
  RowWise found;
  int next = 0;
  if (rule != nullptr) {
    if (!stays_in_rows(node, *rule, form)) return std::nullopt;
    const int operands = rule->operands == kAll ? node.num_inputs() : rule->operands;
    if (node.has_attr("epilogue") && (rule->operands == kAll || rule->weights > 1)) return std::nullopt;
    for (; next < operands; ++next) {
      if (node.input(next) == nullptr || !has_form(*node.input(next), form, axes)) return std::nullopt;
      (node.input(next)->is_constant() ? found.constants : found.rows).push_back(next);
    }
    next += rule->weights;
    // Lists that are computed: of the rows, too, for all that is known.
    if ((rule->axes || node.is("Split")) && next < node.num_inputs() && !node.has_attr("epilogue")) return std::nullopt;
    if (!found.constants.empty() && form == RowForm::kOne) return std::nullopt;
  }
  for (; next < node.num_inputs(); ++next)
    if (node.input(next) != nullptr && !sort_operand(node, next, form, axes, &found)) return std::nullopt;
  return found;
}

bool keeps_rows(const Node& reshape, const RowAxes& axes) {
  if (!is_reshape(reshape) || !is_movable(reshape)) return false;
  const Shape &from = reshape.input(0)->shape(), &to = reshape.output()->shape();
  const std::optional<RowForm> before = row_form(from, axes), after = row_form(to, axes);
  if (!before || !after) return false;
  const Shape row(from.begin() + count(*before), from.end()), made(to.begin() + count(*after), to.end());
  const auto is_const = [](const Dim& d) { return d.is_const(); };
  return row == made ||
         (std::all_of(row.begin(), row.end(), is_const) && std::all_of(made.begin(), made.end(), is_const) &&
          volume(row) == volume(made) && !(volume(row) == Dim(0)));
}

AttrMap attributes_for_two(const Node& node, RowForm form) {
  AttrMap attrs = node.attrs();
  const Rule* rule = rule_of(node);
  if (rule == nullptr || rule->axis == nullptr || form == RowForm::kTwo) return attrs;
  std::vector<int64_t> axes = axes_of(node, *rule);
  for (int64_t& axis : axes) ++axis;
  if (rule->axes)
    attrs[rule->axis] = axes;
  else
    attrs[rule->axis] = axes[0];
  return attrs;
}

}  // namespace wootz
