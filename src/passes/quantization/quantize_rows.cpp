// Dynamic quantization of rows that is spelled out: a scale for each row, of its largest absolute value, and the row
// over it, rounded to 8 bits. It becomes one op, whose scales the product of these rows takes as an operand (fuse_qdq),
// also where they were multiplied by afterwards.
#include <algorithm>
#include <cmath>

#include "base/fp8.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "passes/pass.h"
#include "passes/quantization/qdq.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

// Of a value that is a scale for each row of `rows`.
struct RowScale {
  Value* rows = nullptr;
  Node* first = nullptr;   // that reads the rows for it
  Value* plain = nullptr;  // where scales of 0 are replaced for the division: before that
  double divisor = 0, factor = 0, least = 0, instead = 0;
};

Node* producer_of(const Value* v, const char* op_name) {
  Node* const n = v == nullptr ? nullptr : v->producer();
  return n != nullptr && n->is(op_name) && n->num_outputs() == 1 && !n->has_attr("epilogue") ? n : nullptr;
}

// Of a node with a constant of one element among two operands: the other one.
Value* beside_constant(const Node* node, double* constant) {
  for (int i = 0; node != nullptr && i < 2; ++i)
    if (const std::optional<double> c = scalar_constant(node->input(i)); c && !node->input(1 - i)->is_constant()) {
      *constant = *c;
      return node->input(1 - i);
    }
  return nullptr;
}

// max(v, constant): v; otherwise the value itself.
Value* below_bound(Value* v, double* least) {
  double bound = 0;
  Value* inner = beside_constant(producer_of(v, "Max"), &bound);
  if (const Node* const clip = producer_of(v, "Clip"); clip != nullptr) {
    const std::optional<double> low =
        clip->input(1) == nullptr ? std::optional(clip->attr_float("min", -INFINITY)) : scalar_constant(clip->input(1));
    const double high = clip->input(2) == nullptr ? clip->attr_float("max", INFINITY) : 0;
    if (!low || high < 3e38) return v;
    bound = *low;
    inner = clip->input(0);
  }
  if (inner == nullptr || !(bound >= 0)) return v;
  *least = std::max(*least, bound);
  return inner;
}

// where(v == 0, constant, v): v; otherwise the value itself.
Value* below_guard(Value* v, double* instead) {
  const Node* const where = producer_of(v, "Where");
  const std::optional<double> constant = where == nullptr ? std::nullopt : scalar_constant(where->input(1));
  if (!constant) return v;
  double zero = 1;
  Value* const compared = beside_constant(producer_of(where->input(0), "Equal"), &zero);
  if (zero != 0 || compared != where->input(2)) return v;
  *instead = *constant;
  return compared;
}

std::optional<RowScale> read_scale(Value* scale) {
  if (scale == nullptr || scale->is_constant() || scale->dtype() != DType::kF32 || scale->rank() < 1)
    return std::nullopt;
  RowScale s;
  Value* v = s.plain = below_guard(scale, &s.instead);
  v = below_bound(v, &s.least);
  if (const Node* const div = producer_of(v, "Div"); div != nullptr) {
    const std::optional<double> by = scalar_constant(div->input(1));
    if (!by || !(*by > 0)) return std::nullopt;
    s.divisor = *by;
    v = div->input(0);
  } else {
    v = beside_constant(producer_of(v, "Mul"), &s.factor);
    if (v == nullptr || !(s.factor > 0)) return std::nullopt;
  }
  double most = 0;
  v = below_bound(v, &most);
  const auto bound = static_cast<float>(most);
  s.least = std::max<double>(
      s.least, s.divisor > 0 ? bound / static_cast<float>(s.divisor) : bound * static_cast<float>(s.factor));
  const Node* const reduce = producer_of(v, "Reduce");
  if (reduce == nullptr || reduce->attr_string("kind") != "max" || reduce->attr_int("keepdims", 1) != 1 ||
      !reduce->has_attr("axes"))
    return std::nullopt;
  const std::vector<int64_t> axes = reduce->attr_ints("axes");
  Node* const absolute = producer_of(reduce->input(0), "Abs");
  if (absolute == nullptr || axes.size() != 1 || (axes[0] != -1 && axes[0] != reduce->input(0)->rank() - 1))
    return std::nullopt;
  s.first = absolute;
  s.rows = absolute->input(0);
  if (!(s.divisor > 0)) s.divisor = 127;
  return s;
}

// The node that divides by the scale, and what it reads; null: it is none.
struct Rounding {
  Value *rows = nullptr, *scale = nullptr;
};

bool is_zero(const Value* v) {
  if (v == nullptr) return true;
  if (!v->is_constant()) return false;
  for (int64_t i = 0; i < v->constant().volume(); ++i)
    if (v->constant().get_f64(i) != 0) return false;
  return true;
}

// Bounds that a quotient of at most 127 keeps anyway.
Value* below_bounds(Value* v) {
  const Node* const clip = producer_of(v, "Clip");
  if (clip == nullptr) return v;
  const auto bound = [&](int input, const char* name) {
    return clip->input(input) == nullptr ? clip->attr_float(name, 0) : scalar_constant(clip->input(input)).value_or(0);
  };
  return bound(1, "min") <= -127 && bound(2, "max") >= 127 ? clip->input(0) : v;
}

std::optional<Rounding> read_rounding(const Node& node) {
  const DType to = node.num_outputs() == 1 && node.output() != nullptr ? node.output()->dtype() : DType::kInvalid;
  if (node.is("Quantize") && (to == DType::kI8 || to == DType::kF8E4M3)) {
    const bool plain = is_zero(node.input(2)) && node.attr_int("saturate", 1) != 0 &&
                       node.attr_dtype("precision", DType::kF32) == DType::kF32;
    return plain ? std::optional(Rounding{node.input(0), node.input(1)}) : std::nullopt;
  }
  if (!node.is("Cast") || to != DType::kI8) return std::nullopt;
  const Node* const round = producer_of(below_bounds(node.input(0)), "Round");
  const Node* const div = round == nullptr ? nullptr : producer_of(below_bounds(round->input(0)), "Div");
  return div == nullptr ? std::nullopt : std::optional(Rounding{div->input(0), div->input(1)});
}

// A cast that rows have been widened by.
Value* stored_rows(Value* rows) {
  const Node* const cast = producer_of(rows, "Cast");
  return cast != nullptr && (cast->input(0)->dtype() == DType::kF16 || cast->input(0)->dtype() == DType::kBF16)
             ? cast->input(0)
             : rows;
}

bool makes_rows(const Node* node) { return node != nullptr && node->is("QuantizeRows"); }

bool is_read_beside_guard(const Value& plain) {
  return plain.graph()->is_output(&plain) || std::any_of(plain.uses().begin(), plain.uses().end(), [](const Use& use) {
           return !use.node->is("Equal") && !use.node->is("Where");
         });
}

// Nodes that multiply by `from` multiply by `scales`, which is a result of the graph where that was one. Other readers
// go with the old nodes.
void give_scales(Graph& graph, Value* from, Value* scales) {
  for (const Use& use : std::vector<Use>(from->uses()))
    if (use.node->is("Dequantize") || use.node->is("Mul")) use.node->set_input(use.index, scales);
  if (!graph.is_output(from)) return;
  for (size_t i = 0; i < graph.outputs().size(); ++i)
    if (graph.outputs()[i] == from) graph.set_output(static_cast<int>(i), scales);
  std::string name = from->name();
  from->set_name(graph.unique_name(name));
  scales->set_name(std::move(name));
}

// Rows and their scales as one node; the bytes and what multiplies by these scales are from there.
Result<bool> recognize(Graph& graph, Node* node) {
  const std::optional<Rounding> rounding = read_rounding(*node);
  if (!rounding || rounding->rows == nullptr) return false;
  const std::optional<RowScale> scale = read_scale(rounding->scale);
  if (!scale || scale->rows != rounding->rows || rounding->rows->dtype() != DType::kF32 ||
      !(node->output()->shape() == rounding->rows->shape()))
    return false;
  const bool guarded = rounding->scale != scale->plain, exact = !guarded || !is_read_beside_guard(*scale->plain);
  Value* const target = guarded && exact ? rounding->scale : scale->plain;
  AttrMap attrs{{"to", std::string(dtype_name(node->output()->dtype()))}, {"divisor", scale->divisor}};
  if (guarded && exact) attrs["empty"] = scale->instead;
  if (scale->factor > 0) attrs["factor"] = scale->factor;
  if (scale->least > 0) attrs["least"] = scale->least;
  Node* const made = graph.add_node(op("QuantizeRows"), graph.unique_name(node->name()), {stored_rows(rounding->rows)},
                                    std::move(attrs), 2, scale->first);
  made->add_provenance(*node);
  WOOTZ_RETURN_IF_ERROR(infer_node(*made));
  give_scales(graph, target, made->output(1));
  // Where a row is zeros, so are its bytes, whatever they are multiplied by.
  if (target != rounding->scale)
    for (const Use& use : std::vector<Use>(rounding->scale->uses()))
      if (use.node->is("Dequantize") && use.node->input(0) == node->output())
        use.node->set_input(use.index, made->output(1));
  take_place(graph, node->output(), made->output());
  return true;
}

// bytes, as floats, times their scales is what Dequantize gives.
Result<bool> recognize_dequantize(Graph& graph, Node* node) {
  if (!node->is("Mul") || node->has_attr("epilogue")) return false;
  for (int i = 0; i < 2; ++i) {
    const Node* const cast = producer_of(node->input(i), "Cast");
    const Node* const rows = cast == nullptr ? nullptr : cast->input(0)->producer();
    if (!makes_rows(rows) || cast->input(0) != rows->output(0) || node->input(1 - i) != rows->output(1)) continue;
    WOOTZ_ASSIGN_OR_RETURN(Node* const made,
                           replace_node(graph, node, "Dequantize", {rows->output(0), rows->output(1)}, {}));
    return made != nullptr;
  }
  return false;
}

// The scales of the rows that a product has multiplied, among the operands of the product that follows it: `scales`, or
// these times a factor for each column.
struct Factors {
  Value* scales = nullptr;
  std::vector<double> columns;
};
std::optional<Factors> factors_of(Value* v, const Node& rows, const Node& product) {
  if (v == rows.output(1)) return Factors{v, {}};
  const Node* const both = producer_of(v, "Mul");
  for (int i = 0; both != nullptr && i < 2; ++i) {
    if (both->input(i) != rows.output(1)) continue;
    const int64_t count = product.input(1)->constant().dims()[product.attr_int("trans_b", 0) != 0 ? 0 : 1];
    std::optional<std::vector<double>> columns =
        per_channel(both->input(1 - i), product.output()->rank(), product.output()->rank() - 1, count);
    if (columns) return Factors{rows.output(1), std::move(*columns)};
  }
  return std::nullopt;
}

// A product of rows whose scales its results are multiplied by takes them as its operand.
Result<bool> take_scales(Graph& graph, Node* product) {
  if (!product->is("MatMul") || !product->has_attr("x_scale") || product->num_inputs() != 2 ||
      product->has_attr("epilogue") || product->attr_int("trans_a", 0) != 0 || !product->input(1)->is_constant() ||
      product->input(1)->rank() != 2)
    return false;
  const Node* const rows = product->input(0)->producer();
  Node* const mul = only_user(product->output());
  if (!makes_rows(rows) || product->input(0) != rows->output(0) || mul == nullptr || !mul->is("Mul") ||
      mul->input(0) == mul->input(1) || !(mul->output()->shape() == product->output()->shape()))
    return false;
  std::optional<Factors> factors = factors_of(mul->input(mul->input(0) == product->output() ? 1 : 0), *rows, *product);
  if (!factors) return false;
  if (!factors->columns.empty()) {
    const std::vector<double> old = product->attr_floats("w_scale");
    std::vector<double> scales(std::max(old.size(), factors->columns.size()));
    for (size_t c = 0; c < scales.size(); ++c)
      scales[c] = old[old.size() == 1 ? 0 : c] * factors->columns[factors->columns.size() == 1 ? 0 : c];
    product->set_attr("w_scale", std::move(scales));
  }
  product->add_input(nullptr);
  product->add_input(factors->scales);
  product->add_provenance(*mul);
  WOOTZ_RETURN_IF_ERROR(infer_node(*product));
  become_and_erase(graph, mul->output(), product->output());
  return true;
}

}  // namespace

Result<bool> quantize_rows(Graph& graph) {
  bool changed = false;
  for (const auto step : {recognize, recognize_dequantize, take_scales}) {
    std::vector<int> ids;  // what goes with one of them may be another
    for (Node* node = graph.first(); node != nullptr; node = node->next())
      if (node->num_outputs() == 1 && node->output() != nullptr) ids.push_back(node->output()->id());
    for (const int id : ids) {
      Value* const value = graph.value_by_id(id);
      if (value == nullptr || value->producer() == nullptr) continue;
      WOOTZ_ASSIGN_OR_RETURN(const bool done, step(graph, value->producer()));
      changed = changed || done;
    }
  }
  return changed;
}

}  // namespace wootz
