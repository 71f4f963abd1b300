#include "lower/op_params.h"

#include <algorithm>

#include "backend/op_kernels.h"
#include "ir/op_def.h"
#include "ops/einsum/equation.h"

namespace wootz {
namespace {

constexpr int64_t kMostElements = 64;  // of constants that become parameters

// Kernels read labels, not letters.
void name_labels(const Node& node, EinsumOpParams* einsum) {
  std::vector<int> ranks;
  for (const Value* v : node.inputs()) ranks.push_back(v->rank());
  const Result<ops::Equation> equation = ops::parse_equation(node.attr_string("equation"), ranks);
  if (!equation.ok()) return;
  for (const auto& term : equation->terms) einsum->terms.emplace_back(term.begin(), term.end());
  einsum->result.assign(equation->output.begin(), equation->output.end());
}

void read_value(const Node& node, ConstantOfShapeOpParams* params) {
  const auto value = node.attrs().find("value");
  const auto* tensor = value == node.attrs().end() ? nullptr : std::get_if<HostTensor>(&value->second);
  if (tensor == nullptr || !tensor->valid() || tensor->volume() != 1) return;
  if (is_float(tensor->dtype()))
    params->real = tensor->get_f64(0);
  else
    params->whole = tensor->get_i64(0);
}

std::optional<ParamSource> source_of(const Attr& value) {
  if (const auto* i = std::get_if<int64_t>(&value)) return *i;
  if (const auto* f = std::get_if<double>(&value)) return *f;
  if (const auto* s = std::get_if<std::string>(&value)) return *s;
  if (const auto* l = std::get_if<Ints>(&value)) return *l;
  if (const auto* l = std::get_if<Floats>(&value)) return *l;
  return std::nullopt;
}

// Parameters are named as the op's attributes are.
bool read_attributes(const Node& node, const ParamTable& table, void* params) {
  return std::all_of(table.fields.begin(), table.fields.end(), [&](const ParamField& field) {
    const auto found = node.attrs().find(field.name);
    if (found == node.attrs().end()) return true;
    const std::optional<ParamSource> source = source_of(found->second);
    return source && assign_param(field, params, *source);
  });
}

OpParamsBox kernel_params(const Node& node) {
  const std::optional<size_t> index = op_kernel_index(node.op().name);
  if (!index) return {};
  OpKernelParams params = default_op_params(*index);
  if (!read_attributes(node, op_kernel_table(*index), params_address(params))) return {};
  if (auto* einsum = std::get_if<EinsumOpParams>(&params)) name_labels(node, einsum);
  if (auto* filled = std::get_if<ConstantOfShapeOpParams>(&params)) read_value(node, filled);
  return box_params(std::move(params));
}

// What small constants say: an axis, a diagonal.
MaybeIntLists known_constants(const Node& node) {
  MaybeIntLists all;
  for (int i = 0; i < node.num_inputs(); ++i) {
    const Value* v = node.input(i);
    if (v == nullptr || !v->is_constant() || !is_integer(v->dtype())) continue;
    const HostTensor& data = v->constant();
    if (!data.valid() || data.volume() > kMostElements) continue;
    all.resize(static_cast<size_t>(i) + 1);
    Ints& values = all.back().emplace();
    for (int64_t e = 0; e < data.volume(); ++e) values.push_back(data.get_i64(e));
  }
  return all;
}

}  // namespace

void describe_op(const Node& node, std::string text, bool own_sizes, OpParams* op) {
  op->op = node.op().name;
  op->node = std::move(text);
  if (node.attr_expr("epilogue") != nullptr) return;  // it is more than its op
  op->kernel = kernel_params(node);
  op->own_sizes = own_sizes;
  op->constants = known_constants(node);
}

}  // namespace wootz
