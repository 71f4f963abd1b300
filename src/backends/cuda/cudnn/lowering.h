// What is asked of cuDNN, as its operations.
#pragma once

#include <memory>

#include "backend/device.h"
#include "backends/cuda/cudnn/operations.h"

namespace wootz::cuda {

// What a plan wants an address for, by its number less 1. It depends on the graph alone, so that plans that were built
// before need no operations.
struct CudnnBinding {
  bool number = false;  // a float on the host, not one of the step's tensors
  float value = 0;
  bool output = false;
  int index = 0;
  int64_t offset = 0;
};
std::vector<CudnnBinding> cudnn_bindings(const CudnnGraph& graph, const CudnnLibrary& library);

// Finished, for a target; `library` has its handle where it is a GPU at hand. Errors: what the library, or this version
// of it, cannot do.
Result<std::shared_ptr<const CudnnOperations>> cudnn_operations(const CudnnGraph& graph, const CudnnLibrary& library,
                                                                const CudnnTarget& target);

// A part of it: attention on the tensors q, k, v, then the mask or kNoValue, and the numbers: its scale and, when
// causal, what hides a score.
struct AttentionValues {
  CudnnValue q, k, v, mask, y, scale, hidden;
};
Status check_attention(const CudnnGraph& graph, const CudnnLibrary& library, int capability);
bool attention_is_one_operation(const CudnnGraph& graph, const CudnnLibrary& library);
void add_attention(const CudnnGraph& graph, const AttentionValues& values, CudnnOperations* operations);

}  // namespace wootz::cuda
