#include "ops/support/pointwise.h"

#include <algorithm>

#include "base/pointwise_block.h"
#include "ops/support/module_util.h"
#include "ops/support/truth.h"

namespace wootz {

Result<PointwiseExpr> node_expression(const Node& node) {
  if (const PointwiseExpr* expr = node.attr_expr("expr")) return *expr;
  if (node.op().pointwise == nullptr) return at_node(node, internal_error("there is no pointwise expression"));
  return node.op().pointwise(node);
}

namespace {

// One element: the value of every instruction as a dimension, where it is one.
std::optional<Dim> fold_instruction(const PwInstr& in, const std::vector<std::optional<Dim>>& v, const Graph* graph) {
  const auto known = [&](uint16_t i) { return i < v.size() && v[i].has_value(); };
  const auto constant = [&](uint16_t i) { return known(i) && v[i]->is_const(); };
  switch (in.op) {
    case PwOp::kConst: {
      const auto value = static_cast<int64_t>(in.imm0);
      return static_cast<double>(value) == in.imm0 ? std::optional<Dim>(value) : std::nullopt;
    }
    case PwOp::kCast:
      if (in.type == DType::kBool) return known(in.a) ? ops::truth_of(*v[in.a]) : std::nullopt;
      return is_float(in.type) || !known(in.a) ? std::nullopt : v[in.a];
    case PwOp::kNeg: return known(in.a) ? std::optional<Dim>(Dim(0) - *v[in.a]) : std::nullopt;
    case PwOp::kSelect:
      if (!constant(in.a)) return std::nullopt;
      return v[in.a]->value() != 0 ? v[in.b] : v[in.c];
    case PwOp::kNot:
      if (!known(in.a) || in.type != DType::kBool) return std::nullopt;
      return ops::truth_not(*v[in.a]);
    default: break;
  }
  if (pw_op_arity(in.op) != 2 || !known(in.a) || !known(in.b)) return std::nullopt;
  const Dim &a = *v[in.a], &b = *v[in.b];
  switch (in.op) {
    case PwOp::kAdd: return a + b;
    case PwOp::kSub: return a - b;
    case PwOp::kMul: return a * b;
    case PwOp::kMin: return dim_min(a, b);
    case PwOp::kMax: return dim_max(a, b);
    default: break;
  }
  if (in.op == PwOp::kDiv || in.op == PwOp::kMod || in.op == PwOp::kFmod) {
    // Sizes are not negative, so truncation is floor; constants below zero are left to constant folding.
    if (b.is_const() && b.value() <= 0) return std::nullopt;
    if (a.is_const() && a.value() < 0) return std::nullopt;
    return in.op == PwOp::kDiv ? floor_div(a, b) : mod(a, b);
  }
  if (in.op == PwOp::kEqual) {
    if (a == b) return Dim(1);
    // "Is this entry -1?", asked of a size.
    if (a.is_const() && a.value() < 0 && ops::never_negative(b, graph)) return Dim(0);
    if (b.is_const() && b.value() < 0 && ops::never_negative(a, graph)) return Dim(0);
  }
  const bool logical = in.type == DType::kBool;
  const bool numbers = a.is_const() && b.is_const();
  switch (in.op) {
    case PwOp::kEqual: return ops::truth_equal(a, b);
    case PwOp::kLess: return ops::truth_less(a, b);
    case PwOp::kLessEqual: return ops::truth_less(a, b + Dim(1));
    case PwOp::kGreater: return ops::truth_less(b, a);
    case PwOp::kGreaterEqual: return ops::truth_less(b, a + Dim(1));
    case PwOp::kAnd: return numbers ? Dim(a.value() & b.value()) : logical ? ops::truth_and(a, b) : std::nullopt;
    case PwOp::kOr: return numbers ? Dim(a.value() | b.value()) : logical ? ops::truth_or(a, b) : std::nullopt;
    case PwOp::kXor: return logical ? ops::truth_xor(a, b) : std::nullopt;
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<std::vector<Dim>> expression_shape_values(const PointwiseExpr& expr, const InferContext& ctx,
                                                        size_t output) {
  if (is_float(expr.output_type(output))) return std::nullopt;
  std::vector<std::vector<Dim>> operands(expr.num_inputs);
  std::vector<bool> known(expr.num_inputs, false);
  size_t count = 1;
  for (uint16_t k = 0; k < expr.num_inputs; ++k) {
    if (!ctx.has(k)) continue;
    if (ctx.rank(k) > 1) return std::nullopt;
    std::optional<std::vector<Dim>> values = ctx.dims_value(k);
    if (!values) continue;
    if (values->size() != 1) count = values->size();
    operands[k] = std::move(*values);
    known[k] = true;
  }
  std::vector<Dim> result;
  for (size_t e = 0; e < count; ++e) {
    std::vector<std::optional<Dim>> v;
    v.reserve(expr.code.size());
    for (const PwInstr& in : expr.code) {
      if (in.op == PwOp::kInput) {
        if (!known[in.a] || operands[in.a].empty()) {
          v.emplace_back(std::nullopt);
          continue;
        }
        const std::vector<Dim>& operand = operands[in.a];
        if (operand.size() != 1 && operand.size() != count) return std::nullopt;
        v.emplace_back(operand[operand.size() == 1 ? 0 : e]);
      } else {
        v.push_back(fold_instruction(in, v, ctx.node().graph()));
      }
    }
    if (!v[expr.outputs[output]]) return std::nullopt;
    result.push_back(*v[expr.outputs[output]]);
  }
  return result;
}

namespace {

// To the next element in row-major order, in every operand.
void advance(const Dims& dims, const std::vector<Dims>& strides, Dims* index, std::vector<int64_t>* offset) {
  for (size_t axis = dims.size(); axis-- > 0;) {
    const bool wraps = ++(*index)[axis] == dims[axis];
    for (size_t k = 0; k < strides.size(); ++k)
      if (strides[k].rank() == dims.rank()) (*offset)[k] += strides[k][axis] * (wraps ? 1 - dims[axis] : 1);
    if (!wraps) return;
    (*index)[axis] = 0;
  }
}

}  // namespace

Result<std::vector<HostTensor>> evaluate_expression(const PointwiseExpr& expr,
                                                    const std::vector<const HostTensor*>& inputs, const Dims& dims) {
  std::vector<Dims> strides(expr.num_inputs);
  for (uint16_t k = 0; k < expr.num_inputs; ++k) {
    if (expr.input_type(k) == DType::kInvalid) continue;
    if (k >= inputs.size() || inputs[k] == nullptr)
      return invalid_argument("operand {} of the expression is missing", k);
    WOOTZ_ASSIGN_OR_RETURN(const Dims together, broadcast_dims(inputs[k]->dims(), dims));
    if (!(together == dims))
      return invalid_argument("operand {} of shape {} does not broadcast to {}", k, inputs[k]->dims().to_string(),
                              dims.to_string());
    strides[k] = broadcast_strides(inputs[k]->dims(), dims);
  }
  std::vector<HostTensor> outputs(expr.outputs.size());
  for (size_t o = 0; o < outputs.size(); ++o) {
    WOOTZ_ASSIGN_OR_RETURN(outputs[o], HostTensor::allocate(expr.output_type(o), dims));
  }
  // A block of elements at a time: the operands gathered, the expression over all of them, the results put down.
  constexpr int64_t kBlock = 256;
  std::vector<PwScalar> in, out, scratch;
  std::vector<int64_t> offset(expr.num_inputs, 0);
  Dims index = Dims::filled(dims.rank(), 0);
  const int64_t total = dims.volume();
  for (int64_t first = 0; first < total; first += kBlock) {
    const auto count = static_cast<size_t>(std::min(kBlock, total - first));
    in.assign(expr.num_inputs * count, PwScalar());
    out.resize(expr.outputs.size() * count);
    for (size_t e = 0; e < count; ++e) {
      for (uint16_t k = 0; k < expr.num_inputs; ++k) {
        if (strides[k].rank() != dims.rank() || inputs[k] == nullptr) continue;
        if (is_float(inputs[k]->dtype()))
          in[k * count + e].f = inputs[k]->get_f64(offset[k]);
        else
          in[k * count + e].i = inputs[k]->get_i64(offset[k]);
      }
      advance(dims, strides, &index, &offset);
    }
    evaluate_block(expr, count, in, out, &scratch);
    for (size_t o = 0; o < outputs.size(); ++o) {
      for (size_t e = 0; e < count; ++e) {
        const PwScalar& value = out[o * count + e];
        const auto at = first + static_cast<int64_t>(e);
        if (is_float(outputs[o].dtype()))
          outputs[o].set_f64(at, value.f);
        else
          outputs[o].set_i64(at, value.i);
      }
    }
  }
  return outputs;
}

}  // namespace wootz
