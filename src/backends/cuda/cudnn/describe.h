// From a problem at concrete extents to what is asked of cuDNN; or why it is not asked.
#pragma once

#include "backends/cuda/cudnn/graph.h"

namespace wootz::cuda {

Result<CudnnGraph> describe_conv(const Problem& problem, std::span<const Dims> inputs, const Dims& output, bool tf32);
Result<CudnnGraph> describe_attention(const Problem& problem, std::span<const Dims> inputs, const Dims& output);

}  // namespace wootz::cuda
