#include "backends/cuda/generate/tile_reads.h"

#include <algorithm>
#include <optional>

#include "backend/chain.h"
#include "backend/siblings.h"

namespace wootz::cuda {
namespace {

// The product of its two operands, rounded to their type.
bool multiplies_two(const PointwiseExpr& e, DType type) {
  if (e.num_inputs != 2 || e.outputs.size() != 1) return false;
  const PwInstr& product = e.code[e.outputs[0]];
  if (product.op != PwOp::kMul || product.type != type) return false;
  const PwInstr &a = e.code[product.a], &b = e.code[product.b];
  return a.op == PwOp::kInput && b.op == PwOp::kInput && a.a != b.a && a.type == type && b.type == type;
}

// The value behind conversions to FP32.
const PwInstr& converted(const PointwiseExpr& e, uint16_t i) {
  while (e.code[i].op == PwOp::kCast && e.code[i].type == DType::kF32) i = e.code[i].a;
  return e.code[i];
}

bool is_constant(const PointwiseExpr& e, uint16_t i, double value) {
  const PwInstr& in = converted(e, i);
  return in.op == PwOp::kConst && in.imm0 == value;
}

// Bytes without a zero point by a scale: which operand they are.
std::optional<uint16_t> scaled_bytes(const PointwiseExpr& e, uint16_t i, double* scale) {
  const PwInstr& product = e.code[i];
  if (product.op != PwOp::kMul || product.type != DType::kF32) return std::nullopt;
  for (const auto& [bytes, by] : {std::pair(product.a, product.b), {product.b, product.a}}) {
    const PwInstr& factor = converted(e, by);
    const PwInstr* from = &converted(e, bytes);
    if (from->op == PwOp::kSub && from->type == DType::kF32 && is_constant(e, from->b, 0))
      from = &converted(e, from->a);
    if (factor.op != PwOp::kConst || from->op != PwOp::kInput || !is_int8(from->type)) continue;
    *scale = factor.imm0;
    return from->a;
  }
  return std::nullopt;
}

// The product of bytes by a scale and a gate in 16 bits, as bytes of the same type without a zero point. The operand
// that is the gate; none: another expression.
std::optional<int> multiplies_bytes(const Problem& first, double* factor) {
  const PointwiseExpr& e = first.epilogue;
  if (e.num_inputs != 2 || e.outputs.size() != 1) return std::nullopt;
  const PwInstr& made = e.code[e.outputs[0]];
  if (made.op != PwOp::kQuantize || !is_int8(made.type) || !is_constant(e, made.c, 0)) return std::nullopt;
  const PwInstr &scale = converted(e, made.b), &product = e.code[made.a];
  if (scale.op != PwOp::kConst || !(scale.imm0 > 0) || product.op != PwOp::kMul || product.type != DType::kF32)
    return std::nullopt;
  for (const auto& [bytes, by] : {std::pair(product.a, product.b), {product.b, product.a}}) {
    double own = 0;
    const std::optional<uint16_t> image = scaled_bytes(e, bytes, &own);
    const PwInstr& gate = converted(e, by);
    if (!image || gate.op != PwOp::kInput || gate.a == *image) continue;
    if (first.inputs[*image].dtype != made.type || first.inputs[gate.a].dtype != gate.type) return std::nullopt;
    if (gate.type != DType::kF16 && gate.type != DType::kBF16) return std::nullopt;
    *factor = own / scale.imm0;
    return gate.a;
  }
  return std::nullopt;
}

// One value a channel of a single image.
bool is_gate_of(const Dims& gate, const Dims& image) {
  return gate.rank() == image.rank() && image.rank() > 2 && image[0] == 1 && gate[1] == image[1] &&
         gate.volume() == image[1];
}

Status read_by_gate(const Problem& first, std::span<const Dims> inputs, TileReads* r) {
  if (is_int8(first.outputs[0].dtype)) {
    const std::optional<int> gate = multiplies_bytes(first, &r->factor);
    if (!gate || inputs.size() != 2) return unsupported("another expression than a gate's multiplication of bytes");
    r->gate = *gate;
    r->gate_type = first.inputs[static_cast<size_t>(*gate)].dtype;
    r->x = 1 - *gate;
    if (!is_gate_of(inputs[static_cast<size_t>(r->gate)], inputs[static_cast<size_t>(r->x)]))
      return unsupported("{} as a gate of {}", inputs[1].to_string(), inputs[0].to_string());
    return Status();
  }
  if (!multiplies_two(first.epilogue, first.outputs[0].dtype))
    return unsupported("another expression than a gate's multiplication");
  r->gate = is_gate_of(inputs[0], inputs[1]) ? 0 : 1;
  r->x = 1 - r->gate;
  if (!is_gate_of(inputs[static_cast<size_t>(r->gate)], inputs[static_cast<size_t>(r->x)]))
    return unsupported("{} as a gate of {}", inputs[1].to_string(), inputs[0].to_string());
  return Status();
}

Status read_joined(const Problem& first, std::span<const Dims> inputs, TileReads* r) {
  for (const TensorDesc& t : first.inputs)
    if (t.layout != first.inputs[0].layout) return unsupported("parts in unlike layouts");
  for (size_t i = 0; i < first.inputs.size(); ++i) r->joined.push_back(inputs[i][1]);
  return Status();
}

// Rows along the last axis, with scale and bias by element.
Status read_norm(const Problem& p, const Problem& first, std::span<const Dims> inputs, TileReads* r) {
  const auto& norm = first.as<NormParams>();
  const Dims& x = inputs[0];
  if ((norm.kind != NormKind::kLayer && norm.kind != NormKind::kRms) || norm.axis != x.rank() - 1 ||
      !first.epilogue.empty() || first.num_main != 1 + norm.has_scale + norm.has_bias ||
      first.inputs.size() != static_cast<size_t>(first.num_main) || first.inputs[0].constant ||
      first.inputs[0].dtype != first.outputs[0].dtype || !(norm.epsilon >= 0))
    return unsupported("another normalization than one of rows, by a scale and a bias");
  for (size_t i = 1; i < first.inputs.size(); ++i) {
    WOOTZ_RETURN_IF_ERROR(check_type(first.inputs[i].dtype));
    if (!first.inputs[i].constant || first.inputs[i].dtype == DType::kF64 || inputs[i].volume() != x.back())
      return unsupported("scale or bias of {}", inputs[i].to_string());
  }
  TileProduct::Norm& made = r->norm.emplace();
  made.centered = norm.kind == NormKind::kLayer;
  made.epsilon = norm.epsilon;
  if (norm.has_scale) made.scale = 1;
  if (norm.has_bias) made.bias = 1 + norm.has_scale;
  made.kept = p.outputs.size() == 2;
  return Status();
}

// What is read otherwise than as it is.
Status read_first(const Problem& p, const Problem& first, std::span<const Dims> inputs, TileReads* r) {
  if (first.is(Family::kNorm)) return read_norm(p, first, inputs, r);
  if (p.outputs.size() != 1) return unsupported("a chain that keeps what is in between");
  const bool bytes = first.is(Family::kPointwise) && is_int8(first.outputs[0].dtype);  // by a gate of another type
  for (const TensorDesc& t : first.inputs)
    if (t.constant || (t.dtype != first.outputs[0].dtype && !bytes))
      return unsupported("an operand of {}", dtype_name(t.dtype));
  return first.is(Family::kPointwise)   ? read_by_gate(first, inputs, r)
         : concatenates_channels(first) ? read_joined(first, inputs, r)
                                        : unsupported("another chain than a gate's or a concatenation's");
}

Result<TileReads> read_siblings(const Problem& p, std::span<const Dims> inputs, std::span<const Dims> results) {
  WOOTZ_ASSIGN_OR_RETURN(const Problem joint, joint_of(p));
  if (joint.is(Family::kGemm)) return unsupported("products by packed weights");
  WOOTZ_ASSIGN_OR_RETURN(const Dims all, joint_extents(results, sibling_axes(joint)->output));
  WOOTZ_ASSIGN_OR_RETURN(TileReads r, tile_reads(joint, inputs, std::span(&all, 1)));
  for (const Dims& d : results) r.parts.push_back(d[1]);
  return r;
}

}  // namespace

Result<TileReads> tile_reads(const Problem& p, std::span<const Dims> inputs, std::span<const Dims> results) {
  if (p.is(Family::kSiblings)) return read_siblings(p, inputs, results);
  TileReads r;
  r.made.assign(results.begin(), results.end());
  if (!p.is(Family::kChain)) {
    r.problem = p;
    r.dims.assign(inputs.begin(), inputs.end());
    return r;
  }
  WOOTZ_ASSIGN_OR_RETURN(ChainParts parts, chain_parts(p));
  const Problem& first = parts.first;
  const size_t made_of = first.inputs.size();
  if (!parts.second.is(first.is(Family::kNorm) ? Family::kGemm : Family::kConv) || inputs.size() != p.inputs.size())
    return unsupported("another chain than one of a convolution, or of normalized rows and a product");
  WOOTZ_ASSIGN_OR_RETURN(const Dims middle, chain_middle(first, inputs.first(made_of)));
  WOOTZ_RETURN_IF_ERROR(read_first(p, first, inputs.first(made_of), &r));
  r.w = static_cast<int>(made_of);
  r.problem = std::move(parts.second);
  r.problem.inputs[0].layout = p.inputs[static_cast<size_t>(r.x)].layout;
  r.dims = {middle};
  r.dims.insert(r.dims.end(), inputs.begin() + r.w, inputs.end());
  return r;
}

}  // namespace wootz::cuda
