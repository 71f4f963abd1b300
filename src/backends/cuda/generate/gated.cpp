#include "backends/cuda/generate/gated.h"

#include "backend/chain.h"

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

// One value a channel of a single image.
bool is_gate_of(const Dims& gate, const Dims& image) {
  return gate.rank() == image.rank() && image.rank() > 2 && image[0] == 1 && gate[1] == image[1] &&
         gate.volume() == image[1];
}

}  // namespace

Result<GatedProduct> gated_product(const Problem& p, std::span<const Dims> inputs) {
  GatedProduct g;
  g.dims.assign(inputs.begin(), inputs.end());
  g.problem = p;
  if (!p.is(Family::kChain)) return g;
  WOOTZ_ASSIGN_OR_RETURN(ChainParts parts, chain_parts(p));
  const Problem& first = parts.first;
  if (!first.is(Family::kPointwise) || !parts.second.is(Family::kConv) || inputs.size() != p.inputs.size() ||
      !multiplies_two(first.epilogue, first.outputs[0].dtype))
    return unsupported("another chain than a gate and a convolution");
  g.gate = is_gate_of(inputs[0], inputs[1]) ? 0 : 1;
  g.x = 1 - g.gate;
  g.w = 2;
  const TensorDesc &x = p.inputs[static_cast<size_t>(g.x)], &gate = p.inputs[static_cast<size_t>(g.gate)];
  if (!is_gate_of(inputs[static_cast<size_t>(g.gate)], inputs[static_cast<size_t>(g.x)]))
    return unsupported("{} as a gate of {}", inputs[1].to_string(), inputs[0].to_string());
  if (x.dtype != gate.dtype || x.constant) return unsupported("a gate of {}", dtype_name(gate.dtype));
  g.problem = std::move(parts.second);
  g.problem.inputs[0].layout = x.layout;
  g.dims.erase(g.dims.begin() + g.gate);
  return g;
}

}  // namespace wootz::cuda
