// From a problem at concrete extents to what is asked of cuDNN; or why it is not asked.
#pragma once

#include "backends/cuda/cudnn/graph.h"

namespace wootz::cuda {

Result<CudnnGraph> describe_conv(const Problem& problem, std::span<const Dims> inputs, const Dims& output, bool tf32);
// A convolution, or a product with a constant matrix, of operands in i8. After the packed weights it finds its tables:
// a scale for each channel, what the zero point of x comes to in each, and the epilogue's factors, all f32.
Result<CudnnGraph> describe_int8(const Problem& problem, std::span<const Dims> inputs, const Dims& output);
// Those weights with their tables.
Result<PackedForm> pack_int8_for_cudnn(const Problem& problem, const HostTensor& weights);
// Bytes of packed weights that the graph reads.
size_t packed_bytes(const CudnnGraph& graph);

// An operand that broadcasts over the result.
Result<CudnnTensor> cudnn_operand(const Problem& problem, int input, const Dims& dims, const Dims& output);
void widen_to_images(CudnnGraph* graph);  // rank 3 as rank 4

Result<CudnnGraph> describe_attention(const Problem& problem, std::span<const Dims> inputs, const Dims& output);

}  // namespace wootz::cuda
