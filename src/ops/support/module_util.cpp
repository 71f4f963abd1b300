#include "ops/support/module_util.h"

#include <algorithm>

#include "base/limits.h"

namespace wootz::ops {

Status refuse(const Node& node, std::string_view what) { return at_node(node, invalid_argument("{}", what)); }

bool accepts(Accept accept, DType dtype) {
  switch (accept) {
    case Accept::kFloat: return is_float(dtype);
    case Accept::kNumeric: return is_float(dtype) || is_integer(dtype);
    case Accept::kInteger: return is_integer(dtype);
    case Accept::kBool: return dtype == DType::kBool;
    case Accept::kBoolOrInteger: return dtype == DType::kBool || is_integer(dtype);
    case Accept::kAny: return dtype != DType::kInvalid && dtype != DType::kString;
  }
  return false;
}

const char* accept_name(Accept accept) {
  switch (accept) {
    case Accept::kFloat: return "a floating-point type";
    case Accept::kNumeric: return "a number type";
    case Accept::kInteger: return "an integer type";
    case Accept::kBool: return "bool";
    case Accept::kBoolOrInteger: return "bool or an integer type";
    case Accept::kAny: return "a type with storage";
  }
  return "?";
}

Status check_operand(const Node& node, int i, Accept accept) {
  const Value* value = node.input(i);
  if (value == nullptr) return refuse(node, fmt::format("input {} is missing", i));
  if (accepts(accept, value->dtype())) return Status();
  return refuse(node, fmt::format("input {} ('{}') is {}, it must be {}", i, value->name(), dtype_name(value->dtype()),
                                  accept_name(accept)));
}

Result<std::vector<int64_t>> normalize_axes(const std::vector<int64_t>& axes, int rank) {
  std::vector<int64_t> out;
  for (int64_t axis : axes) {
    WOOTZ_ASSIGN_OR_RETURN(const int a, normalize_axis(axis, rank));
    if (std::find(out.begin(), out.end(), a) != out.end()) return invalid_argument("axis {} is listed twice", a);
    out.push_back(a);
  }
  return out;
}

std::vector<int64_t> tensor_ints(const HostTensor& tensor) {
  std::vector<int64_t> values(static_cast<size_t>(tensor.volume()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = tensor.get_i64(static_cast<int64_t>(i));
  return values;
}

bool has_list(const InferContext& ctx, std::string_view attr, int i) { return ctx.node().has_attr(attr) || ctx.has(i); }

std::optional<std::vector<Dim>> dims_list(const InferContext& ctx, std::string_view attr, int i) {
  if (!ctx.node().has_attr(attr)) return ctx.dims_value(i);
  std::vector<Dim> values;
  for (int64_t v : ctx.node().attr_ints(attr)) values.emplace_back(v);
  return values;
}

std::optional<std::vector<int64_t>> ints_list(const InferContext& ctx, std::string_view attr, int i) {
  return ctx.node().has_attr(attr) ? ctx.node().attr_ints(attr) : ctx.ints_value(i);
}

std::vector<int64_t> ints_list(const EvalContext& ctx, std::string_view attr, size_t i, std::vector<int64_t> fallback) {
  if (ctx.node.has_attr(attr)) return ctx.node.attr_ints(attr);
  return ctx.has(i) ? tensor_ints(ctx.in(i)) : std::move(fallback);
}

bool never_negative(const Dim& dim, const Graph* graph) {
  if (dim.is_const()) return dim.value() >= 0;
  SymbolId id = 0;
  if (dim.is_symbol(&id)) {
    if (graph == nullptr || id < 0 || static_cast<size_t>(id) >= graph->symbols().size()) return false;
    return graph->symbols()[static_cast<size_t>(id)].kind != SymbolKind::kInputValue;
  }
  const auto all = [&] {
    return std::all_of(dim.operands().begin(), dim.operands().end(),
                       [&](const Dim& d) { return never_negative(d, graph); });
  };
  const auto any = [&] {
    return std::any_of(dim.operands().begin(), dim.operands().end(),
                       [&](const Dim& d) { return never_negative(d, graph); });
  };
  return dim.op() == DimOp::kMax ? any() : all();
}

namespace {

std::optional<std::vector<Dim>> tracked_elements(const Value& value) {
  if (value.shape_values()) return *value.shape_values();
  if (!value.is_constant() || is_float(value.dtype())) return std::nullopt;
  if (value.constant().volume() > limits::kMaxShapeValues) return std::nullopt;
  std::vector<Dim> values;
  for (int64_t v : tensor_ints(value.constant())) values.emplace_back(v);
  return values;
}

}  // namespace

std::vector<std::optional<Dim>> known_elements(const InferContext& ctx, int i) {
  if (const auto all = ctx.dims_value(i)) return {all->begin(), all->end()};
  if (!ctx.has(i) || ctx.rank(i) != 1 || !ctx.shape(i)[0].is_const()) return {};
  const int64_t count = ctx.shape(i)[0].value();
  if (count > limits::kMaxShapeValues) return {};
  const std::vector<std::optional<Dim>> nothing(static_cast<size_t>(count));
  const Value* list = ctx.node().input(i);
  if (list == nullptr || list->producer() == nullptr || !list->producer()->is("Concat")) return nothing;
  std::vector<std::optional<Dim>> found;
  for (const Value* part : list->producer()->inputs()) {
    if (const auto values = tracked_elements(*part))
      found.insert(found.end(), values->begin(), values->end());
    else if (part->rank() == 1 && part->shape()[0].is_const() && part->shape()[0].value() <= count)
      found.resize(found.size() + static_cast<size_t>(part->shape()[0].value()));
    else
      return nothing;
  }
  return found.size() == nothing.size() ? found : nothing;
}

std::optional<std::vector<int64_t>> known_ints(const Value* value) {
  if (value == nullptr) return std::nullopt;
  if (value->is_constant()) return tensor_ints(value->constant());
  if (!value->shape_values()) return std::nullopt;
  std::vector<int64_t> values;
  for (const Dim& d : *value->shape_values()) {
    if (!d.is_const()) return std::nullopt;
    values.push_back(d.value());
  }
  return values;
}

std::vector<const OpDef*> op_pointers(const std::vector<OpDef>& defs) {
  std::vector<const OpDef*> ops;
  for (const OpDef& def : defs) ops.push_back(&def);
  return ops;
}

Status import_as(ImportContext& ctx, std::string_view op, std::vector<Value*> inputs, AttrMap attrs) {
  WOOTZ_ASSIGN_OR_RETURN(Value * out, ctx.emit(op, std::move(inputs), std::move(attrs)));
  ctx.set_output(0, out);
  return Status();
}

}  // namespace wootz::ops
