// GEMMs around a softmax that multiply floats of 8 bits, the softmax's result as well, become one Attention that rounds
// its weights. It is for backends that compute that in one step (build/byte_attention.h): elsewhere two GEMMs of 8 bits
// are better.
#include "passes/attention/attention_rounding.h"
#include "passes/pass.h"

namespace wootz {

Result<bool> fuse_attention_fp8(Graph& graph) { return fuse_rounded_attention(graph, is_fp8); }

}  // namespace wootz
