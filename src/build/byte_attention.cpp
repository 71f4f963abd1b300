#include "build/byte_attention.h"

namespace wootz {
namespace {

TensorDesc heads(DType type) {
  TensorDesc t;
  t.dtype = type;
  t.dims = t.max_dims = Dims{1, 2, 64, 64};
  return t;
}

// Whether some kernel takes a plain attention of operands, and with weights, of the type.
bool computes(const BuildContext& context, DType type, DType weights) {
  Problem p;
  p.set_family(Family::kAttention);
  p.inputs = {heads(type), heads(type), heads(type)};
  p.outputs = {heads(DType::kF32)};
  p.num_main = 3;
  p.acc_dtype = DType::kF32;
  auto& params = p.as<AttentionParams>();
  params.q_scale = params.k_scale = params.v_scale = {0.5};
  params.p_scale = 0.25;
  params.p_type = weights;
  std::vector<Candidate> offers;
  std::vector<Refusal> refusals;
  for (const Provider* provider : context.providers()) provider->tactics(p, context.limits, &offers, &refusals);
  return !offers.empty();
}

bool has_quantize(const Graph& graph) {
  for (const Node* node = graph.first(); node != nullptr; node = node->next())
    if (node->is("Quantize")) return true;
  return false;
}

}  // namespace

void choose_byte_attention(const BuildContext& context, const Graph& graph, PipelineOptions* pipeline) {
  if (!has_quantize(graph)) return;
  if (!computes(context, DType::kI8, DType::kU8)) pipeline->disabled.insert("fuse_attention_int8");
  if (!computes(context, DType::kF8E4M3, DType::kF8E4M3)) pipeline->disabled.insert("fuse_attention_fp8");
}

}  // namespace wootz
