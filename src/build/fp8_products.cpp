#include "build/fp8_products.h"

#include <algorithm>

#include "build/kernel_probe.h"
#include "passes/quantization/qdq.h"

namespace wootz {
namespace {

// Ok: some kernel takes a plain product. The error is why the last one that was asked does not.
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
  std::vector<Refusal> refusals;
  if (any_kernel_for(context, p, &refusals)) return Status();
  const auto library = std::find_if(refusals.begin(), refusals.end(),
                                    [](const Refusal& r) { return r.kernel.find("cublaslt") != std::string::npos; });
  return unsupported("{}", library != refusals.end() ? library->reason : "no kernel multiplies them");
}

// Ok: some kernel takes a product whose blocks have scales. The error is why the last one that was asked does not.
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
  std::vector<Refusal> refusals;
  if (any_kernel_for(context, p, &refusals)) return Status();
  return unsupported("{}", refusals.empty() ? "no kernel multiplies them" : refusals.back().reason);
}

bool has_fp8(const Graph& graph) {
  for (const Node* node = graph.first(); node != nullptr; node = node->next())
    if (is_fp8_qdq(*node)) return true;
  return false;
}

bool has_blocks(const Graph& graph) {
  for (const Node* node = graph.first(); node != nullptr; node = node->next())
    if (node->is("Dequantize") && is_fp8(node->input(0)->dtype()) && !node->input(0)->is_constant() &&
        !node->input(1)->is_constant())
      return true;
  return false;
}

}  // namespace

void choose_fp8_products(const BuildContext& context, const Graph& graph, PipelineOptions* pipeline) {
  if (!has_fp8(graph)) return;
  if (const Status blocks = computes_blocks(context); !blocks.ok()) {
    pipeline->disabled.insert("fuse_fp8_blocks");
    if (has_blocks(graph))
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
