// Plugins: one step each, with all that is known of extents that the plugin finds by running.
#include "backend/plugin.h"

#include <algorithm>

#include "backend/shape_program.h"
#include "ir/custom_op.h"
#include "lower/context.h"

namespace wootz {
namespace {

void push(Ints* words, ExtentWord word, int64_t value) {
  words->push_back(static_cast<int64_t>(word));
  words->push_back(value);
}

ShapeOp shape_op(DimOp op) {
  constexpr std::pair<DimOp, ShapeOp> kOps[] = {
      {DimOp::kAdd, ShapeOp::kAdd},         {DimOp::kMul, ShapeOp::kMul}, {DimOp::kFloorDiv, ShapeOp::kFloorDiv},
      {DimOp::kCeilDiv, ShapeOp::kCeilDiv}, {DimOp::kMod, ShapeOp::kMod}, {DimOp::kMin, ShapeOp::kMin}};
  for (const auto& [from, to] : kOps)
    if (from == op) return to;
  return ShapeOp::kMax;
}

// False: it depends on the elements of a shape operand, which the step is not given.
bool write_words(const Dim& dim, Ints* words) {
  SymbolId id = 0;
  if (dim.is_const()) {
    push(words, ExtentWord::kConst, dim.value());
    return true;
  }
  if (dim.is_symbol(&id)) {
    const CustomOp::Meaning m = CustomOp::meaning(id);
    if (m.kind == CustomOp::Kind::kValue) return false;
    push(words, m.kind == CustomOp::Kind::kSize ? ExtentWord::kSize : ExtentWord::kExtent,
         m.kind == CustomOp::Kind::kSize ? m.tensor : int64_t{m.tensor} * limits::kMaxRank + m.index);
    return true;
  }
  size_t count = 0;
  for (const Dim& operand : dim.operands()) {
    if (!write_words(operand, words)) return false;
    if (count++ > 0) push(words, ExtentWord::kOperator, static_cast<int64_t>(shape_op(dim.op())));
  }
  return count > 0;
}

bool depends_on_size(const Dim& dim) {
  std::vector<SymbolId> used;
  dim.collect_symbols(&used);
  for (const SymbolId id : used)
    if (CustomOp::meaning(id).kind == CustomOp::Kind::kSize) return true;
  return false;
}

// The sizes, and the extents that depend on them.
Status describe_sizes(const CustomResults& results, PluginParams* params) {
  const auto refuse = [] {
    return unsupported(
        "extents that depend both on elements of a shape input and on what the plugin finds by running are not "
        "offered");
  };
  for (const CustomResults::Size& size : results.sizes) {
    Ints words{size.output};
    if (!write_words(size.most, &words)) return refuse();
    params->bounds.push_back(std::move(words));
  }
  for (size_t o = 0; o < results.shapes.size(); ++o) {
    const Shape& shape = results.shapes[o];
    if (std::none_of(shape.begin(), shape.end(), depends_on_size)) continue;
    for (size_t a = 0; a < shape.size(); ++a) {
      Ints words{static_cast<int64_t>(o), static_cast<int64_t>(a)};
      if (!write_words(shape[a], &words)) return refuse();
      params->extents.push_back(std::move(words));
    }
  }
  return Status();
}

// By now the profiles have said which inputs decide shapes.
Status check_shape_inputs(const Node& node, int operands) {
  for (int i = operands; i < node.num_inputs(); ++i) {
    const Value* v = node.input(i);
    if (v != nullptr && (v->is_constant() || v->shape_values())) continue;
    return invalid_argument("shape input {}: its elements must follow from extents, constants and input shape tensors",
                            i - operands);
  }
  return Status();
}

// As infer asked; the graph's extents say what is open.
Result<CustomResults> results_of(const Node& node, const CustomOp& plugin, int operands) {
  std::vector<TypeInfo> infos;
  for (int i = 0; i < operands; ++i) {
    TypeInfo& info = infos.emplace_back();
    const Value* v = node.input(i);
    if (v == nullptr) continue;
    info.present = true;
    info.dtype = v->dtype();
    for (int a = 0; a < v->rank(); ++a) {
      const Dim& d = v->shape()[static_cast<size_t>(a)];
      info.shape.push_back(d.is_const() ? d : CustomOp::extent_symbol(i, a));
    }
  }
  std::vector<std::vector<Dim>> values;
  for (int i = operands; i < node.num_inputs(); ++i) {
    std::vector<Dim>& list = values.emplace_back();
    const int64_t count = node.input(i)->rank() == 0             ? 1
                          : node.input(i)->shape()[0].is_const() ? node.input(i)->shape()[0].value()
                                                                 : 0;
    for (int e = 0; e < count && e < CustomOp::kMostElements; ++e)
      list.push_back(CustomOp::value_symbol(i - operands, e));
    if (const HostTensor* known = node.input(i)->is_constant() ? &node.input(i)->constant() : nullptr)
      for (size_t e = 0; e < list.size(); ++e) list[e] = known->get_i64(static_cast<int64_t>(e));
    if (const auto& tracked = node.input(i)->shape_values(); tracked && tracked->size() == list.size())
      for (size_t e = 0; e < list.size(); ++e)
        if ((*tracked)[e].is_const()) list[e] = (*tracked)[e];
  }
  return plugin.results(infos, values);
}

// The first plugin in the bodies of a node; null: there is none.
const Node* inner_plugin(const Node& node) {
  for (const auto& [name, attr] : node.attrs()) {
    const auto* body = std::get_if<std::shared_ptr<Graph>>(&attr);
    if (body == nullptr || *body == nullptr) continue;
    for (const Node* n = (*body)->first(); n != nullptr; n = n->next()) {
      if (n->is("Plugin")) return n;
      if (const Node* inner = inner_plugin(*n)) return inner;
    }
  }
  return nullptr;
}

}  // namespace

Status refuse_inner_plugins(const Node& node) {
  const Node* const plugin = inner_plugin(node);
  if (plugin == nullptr) return Status();
  return unsupported("layer '{}' is a plugin inside of '{}', whose bodies the host interprets here; plugins are not",
                     plugin->name(), node.name());
}

Ints LowerContext::least_extents(TensorIndex tensor) const {
  Ints least;
  if (!tensor.exists()) return least;
  for (const Dim& dim : shapes_.at(tensor)) {
    const auto value = dim.evaluate([&](SymbolId id) -> std::optional<int64_t> {
      const Symbol& symbol = graph_.symbols()[static_cast<size_t>(id)];
      if (symbol.kind == SymbolKind::kDataDependent) return 0;
      int64_t low = INT64_MAX;
      for (const std::vector<SymbolRange>& profile : served_profiles())
        if (static_cast<size_t>(id) < profile.size()) low = std::min(low, profile[static_cast<size_t>(id)].min);
      return low == INT64_MAX ? 1 : low;
    });
    least.push_back(std::max<int64_t>(0, value.value_or(0)));
  }
  return least;
}

Result<bool> lower_plugin(LowerContext& ctx, const Node& node) {
  const std::shared_ptr<const CustomOp> plugin = node.attr_custom("plugin");
  if (plugin == nullptr) return internal_error("a plugin layer without a plugin");
  const int operands = node.num_inputs() - static_cast<int>(node.attr_int("shape_inputs", 0));
  WOOTZ_ASSIGN_OR_RETURN(Step step, ctx.start_step(node, Family::kOp, operands));
  const CustomOp::Identity identity = plugin->identity();
  PluginParams params;
  params.name = identity.name;
  params.version = identity.version;
  params.space = identity.space;
  params.timing = identity.timing;
  params.layer = node.attr_string("layer", node.name());
  WOOTZ_ASSIGN_OR_RETURN(const CustomResults results, results_of(node, *plugin, operands));
  WOOTZ_RETURN_IF_ERROR(check_shape_inputs(node, operands));
  WOOTZ_RETURN_IF_ERROR(describe_sizes(results, &params));
  bool aliased = false;
  for (int o = 0; o < node.num_outputs(); ++o) {
    params.aliases.push_back(plugin->aliased_input(o));
    aliased = aliased || params.aliases.back() >= 0;
  }
  if (!aliased) params.aliases.clear();
  for (const auto* list : {&step.inputs, &step.outputs})
    for (const TensorIndex t : *list) params.least.push_back(ctx.least_extents(t));
  write_plugin(params, &step.problem);
  WOOTZ_RETURN_IF_ERROR(ctx.finish_step(&node, std::move(step)));
  return true;
}

}  // namespace wootz
