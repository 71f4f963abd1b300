// Which convolutions and products have weights with 2:4 zeros.
#include "backend/sparsity.h"
#include "lower/context.h"

namespace wootz {

// Of a convolution or a product; what is put together of several follows from theirs.
void LowerContext::mark_sparse(Step* step) const {
  auto* const conv = std::get_if<ConvParams>(&step->problem.params);
  auto* const gemm = std::get_if<GemmParams>(&step->problem.params);
  if (!options_.sparse_weights || (conv == nullptr && gemm == nullptr)) return;
  bool& sparse = conv != nullptr ? conv->sparse : gemm->sparse;
  sparse = false;
  for (const SummedWeights& w : summed_weights(step->problem)) {
    const PlanTensor& tensor = lowered_.program.tensors[step->inputs[w.input]];
    const PlanConstant& c = lowered_.program.constants[tensor.constant];
    sparse = worth_sparse(HostTensor::wrap(c.dtype, c.dims, c.data, c.owner), w.axis);
  }
}

}  // namespace wootz
