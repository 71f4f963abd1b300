#include "build/fp8_products.h"

#include <algorithm>

#include "build/kernel_probe.h"
#include "passes/quantization/qdq.h"

namespace wootz {
namespace {

// Ok: some kernel takes it. The error is why those whose names have `expected` in them do not.
Status computes(const BuildContext& context, const Problem& problem, std::string_view expected) {
  std::vector<Refusal> refusals;
  if (any_kernel_for(context, problem, &refusals)) return Status();
  const auto of_expected = std::find_if(refusals.begin(), refusals.end(),
                                        [&](const Refusal& r) { return r.kernel.find(expected) != std::string::npos; });
  return unsupported("{}", of_expected != refusals.end() ? of_expected->reason : "no kernel multiplies them");
}

Status computes_fp8_products(const BuildContext& context) {
  const Dims square{64, 64};
  Problem p;
  p.set_family(Family::kGemm);
  p.inputs = {probe_tensor(DType::kF8E4M3, square), probe_tensor(DType::kF8E4M3, square, /*constant=*/true)};
  p.outputs = {probe_tensor(DType::kF32, square)};
  p.num_main = 2;
  p.acc_dtype = DType::kF32;
  p.as<GemmParams>().x_scale = {0.5};
  p.as<GemmParams>().w_scale = {0.5};
  return computes(context, p, "cublaslt");
}

// Of which blocks have scales. Their only kernels sum as tensor cores do, whatever the result's type.
Status computes_blocks(const BuildContext& context) {
  constexpr int64_t kDepth = 256, kBlock = 128, kRows = 64;
  Problem p;
  p.set_family(Family::kBlockGemm);
  p.inputs = {probe_tensor(DType::kF8E4M3, Dims{kRows, kDepth / kBlock, kBlock}),
              probe_tensor(DType::kF32, Dims{kRows, kDepth / kBlock, 1}),
              probe_tensor(DType::kF8E4M3, Dims{kRows, kDepth}, /*constant=*/true),
              probe_tensor(DType::kF32, Dims{kDepth / kBlock, kRows}, /*constant=*/true)};
  p.outputs = {probe_tensor(DType::kF32, Dims{kRows, kRows})};
  p.num_main = 4;
  p.acc_dtype = DType::kF32;
  WOOTZ_RETURN_IF_ERROR(computes(context, p, "block_gemm"));
  if (context.limits.tf32) return Status();
  return unsupported("TF32 is not allowed, and tensor cores sum these in some 14 bits");
}

bool any_node(const Graph& graph, bool (*is)(const Node&)) {
  for (const Node* node = graph.first(); node != nullptr; node = node->next())
    if (is(*node)) return true;
  return false;
}

// An activation whose scales inference finds, several of them.
bool is_dequantize_of_blocks(const Node& node) {
  return node.is("Dequantize") && is_fp8(node.input(0)->dtype()) && !node.input(0)->is_constant() &&
         !node.input(1)->is_constant() && node.input(1)->shape().size() > 1;
}

}  // namespace

void choose_fp8_products(const BuildContext& context, const Graph& graph, PipelineOptions* pipeline) {
  if (!any_node(graph, is_fp8_qdq)) return;
  if (const Status blocks = computes_blocks(context); !blocks.ok()) {
    pipeline->disabled.insert("fuse_fp8_blocks");
    if (any_node(graph, is_dequantize_of_blocks))
      context.log.info(fmt::format(
          "products of floats of 8 bits whose blocks have scales are computed in wider floats: {}", blocks.message()));
  }
  const Status computed = computes_fp8_products(context);
  if (computed.ok()) return;
  pipeline->disabled.insert("propagate_fp8");
  pipeline->disabled.insert("fuse_fp8");
  context.log.info(fmt::format("products and convolutions of floats of 8 bits are computed in wider floats: {}",
                               computed.message()));
}

}  // namespace wootz
