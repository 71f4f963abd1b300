#include "build/byte_attention.h"

#include "build/kernel_probe.h"

namespace wootz {
namespace {

// Whether some kernel takes a plain attention of operands, and with weights, of the type.
bool computes(const BuildContext& context, DType type, DType weights) {
  Problem p;
  p.set_family(Family::kAttention);
  const Dims heads{1, 2, 64, 64};
  p.inputs.assign(3, probe_tensor(type, heads));
  p.outputs = {probe_tensor(DType::kF32, heads)};
  p.num_main = 3;
  p.acc_dtype = DType::kF32;
  auto& params = p.as<AttentionParams>();
  params.q_scale = params.k_scale = params.v_scale = {0.5};
  params.p_scale = 0.25;
  params.p_type = weights;
  return any_kernel_for(context, p);
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
