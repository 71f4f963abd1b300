// Plugin: a layer whose meaning the application brings along, as the attribute `plugin` (ir/custom_op.h). The last
// `shape_inputs` operands are read for the extents of results only.
#include <algorithm>

#include "ir/custom_op.h"
#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

// Operands as the op is told of them: numbers, and symbols of their own for what is open.
TypeInfo own_terms(const InferContext& ctx, int operand) {
  TypeInfo info;
  if (!ctx.has(operand)) return info;
  info.present = true;
  info.dtype = ctx.dtype(operand);
  for (int a = 0; a < ctx.rank(operand); ++a) {
    const Dim& d = ctx.shape(operand)[static_cast<size_t>(a)];
    info.shape.push_back(d.is_const() ? d : CustomOp::extent_symbol(operand, a));
  }
  return info;
}

// Elements that are not known, as those of inputs before profiles say that they decide shapes, have symbols too.
Result<std::vector<Dim>> own_values(const InferContext& ctx, int operand, int number) {
  const bool listed = ctx.has(operand) && is_integer(ctx.dtype(operand)) &&
                      (ctx.rank(operand) == 0 || (ctx.rank(operand) == 1 && ctx.shape(operand)[0].is_const()));
  if (!listed) return ctx.fail("shape input {} must be an integer, or a list of integers of known length", number);
  const int64_t count = ctx.rank(operand) == 0 ? 1 : ctx.shape(operand)[0].value();
  if (count > CustomOp::kMostElements)
    return ctx.fail("shape input {} has {} elements, the limit is {}", number, count, CustomOp::kMostElements);
  const std::optional<std::vector<Dim>> known = ctx.dims_value(operand);
  std::vector<Dim> values;
  for (size_t e = 0; e < static_cast<size_t>(count); ++e)
    values.push_back(known && e < known->size() && (*known)[e].is_const()
                         ? (*known)[e]
                         : CustomOp::value_symbol(number, static_cast<int>(e)));
  return values;
}

// From the op's symbols to the graph's.
class Translation {
 public:
  Translation(InferContext& ctx, int operands, const CustomResults& results)
      : ctx_(ctx), operands_(operands), results_(results) {}

  // A dimension that depends on what the op finds is one that is data-dependent, with this bound if it is a number.
  Dim extent(int output, int axis, const Dim& given) {
    if (depends(given, [&](const CustomOp::Meaning& m) { return is_unknown(m); }))
      return ctx_.data_dependent(output, axis);
    if (!depends(given, [](const CustomOp::Meaning& m) { return m.kind == CustomOp::Kind::kSize; }))
      return translated(given);
    const Dim bound = translated(given.substitute([&](SymbolId id) { return most_of(id); }));
    return ctx_.data_dependent(output, axis, bound.is_const() ? bound.value() : -1);
  }

 private:
  template <typename F>
  static bool depends(const Dim& d, F&& on) {
    std::vector<SymbolId> used;
    d.collect_symbols(&used);
    return std::any_of(used.begin(), used.end(), [&](SymbolId id) { return on(CustomOp::meaning(id)); });
  }
  bool is_unknown(const CustomOp::Meaning& m) const {
    return m.kind == CustomOp::Kind::kValue && !ctx_.dims_value(operands_ + m.tensor);
  }
  Dim most_of(SymbolId id) const {
    const CustomOp::Meaning m = CustomOp::meaning(id);
    if (m.kind == CustomOp::Kind::kSize)
      for (const CustomResults::Size& size : results_.sizes)
        if (size.output == m.tensor) return size.most;
    return Dim::symbol(id);
  }
  Dim translated(const Dim& d) const {
    return d.substitute([&](SymbolId id) {
      const CustomOp::Meaning m = CustomOp::meaning(id);
      if (m.kind == CustomOp::Kind::kExtent) return ctx_.shape(m.tensor)[static_cast<size_t>(m.index)];
      if (m.kind == CustomOp::Kind::kValue)
        return (*ctx_.dims_value(operands_ + m.tensor))[static_cast<size_t>(m.index)];
      return Dim::symbol(id);
    });
  }

  InferContext& ctx_;
  const int operands_;
  const CustomResults& results_;
};

Status check_results(const InferContext& ctx, const CustomResults& results) {
  const auto count = static_cast<size_t>(ctx.node().num_outputs());
  if (results.types.size() != count || results.shapes.size() != count)
    return ctx.fail("{} types and {} shapes for {} outputs", results.types.size(), results.shapes.size(), count);
  for (size_t o = 0; o < count; ++o)
    if (dtype_bits(results.types[o]) == 0) return ctx.fail("output {} has no type", o);
  for (const CustomResults::Size& size : results.sizes) {
    const auto o = static_cast<size_t>(size.output);
    if (size.output < 0 || o >= count) return ctx.fail("size tensor {} of {} outputs", size.output, count);
    if (!results.shapes[o].empty() || (results.types[o] != DType::kI32 && results.types[o] != DType::kI64))
      return ctx.fail("size tensor {} is {}{}, it must be a scalar of type i32 or i64", o, dtype_name(results.types[o]),
                      shape_to_string(results.shapes[o]));
  }
  return Status();
}

Status infer_plugin(InferContext& ctx) {
  const std::shared_ptr<const CustomOp> plugin = ctx.node().attr_custom("plugin");
  if (plugin == nullptr) return ctx.fail("it has no plugin");
  const auto shapes = static_cast<int>(ctx.node().attr_int("shape_inputs", 0));
  const int operands = ctx.num_inputs() - shapes;
  if (shapes < 0 || operands < 0) return ctx.fail("{} shape inputs of {} inputs", shapes, ctx.num_inputs());
  std::vector<TypeInfo> infos;
  for (int i = 0; i < operands; ++i) infos.push_back(own_terms(ctx, i));
  std::vector<std::vector<Dim>> values;
  for (int i = 0; i < shapes; ++i) {
    WOOTZ_ASSIGN_OR_RETURN(values.emplace_back(), own_values(ctx, operands + i, i));
  }
  const Result<CustomResults> given = plugin->results(infos, values);
  if (!given.ok()) return ctx.fail("{}", given.status().message());
  WOOTZ_RETURN_IF_ERROR(check_results(ctx, *given));
  Translation translation(ctx, operands, *given);
  for (int o = 0; o < ctx.node().num_outputs(); ++o) {
    const Shape& of = given->shapes[static_cast<size_t>(o)];
    Shape shape;
    for (size_t a = 0; a < of.size(); ++a) shape.push_back(translation.extent(o, static_cast<int>(a), of[a]));
    ctx.set_output(o, given->types[static_cast<size_t>(o)], std::move(shape));
  }
  return Status();
}

// Steps run plugins; nothing else does.
Status plugin_reference(EvalContext& ctx) {
  return unsupported("node '{}': a plugin runs where it is a layer of the network, not inside what is interpreted",
                     ctx.node.name());
}

const OpDef kPlugin{
    .name = "Plugin",
    .min_inputs = 0,
    .max_inputs = -1,
    .max_outputs = -1,
    .attributes = {{"plugin", AttrKind::kCustom, true}, {"shape_inputs", AttrKind::kInt}, {"layer", AttrKind::kString}},
    .infer = infer_plugin,
    .reference = plugin_reference,
    .lowering = Lowering::kPlugin,
    .traits = {.foldable = false}};
const OpDef* const kPluginDefs[] = {&kPlugin};

}  // namespace

std::span<const OpDef* const> plugin_ops() { return kPluginDefs; }

}  // namespace wootz::ops
