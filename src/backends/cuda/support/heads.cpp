#include "backends/cuda/support/heads.h"

#include <utility>

namespace wootz::cuda {

Result<Heads> operand_heads(const Problem& p, int input, const Dims& dims) {
  const bool transposed = input == 1 && p.as<AttentionParams>().k_transposed;
  if (transposed && !head_view(p, input).empty()) return unsupported("attention: a view of transposed keys");
  WOOTZ_ASSIGN_OR_RETURN(const HeadLines lines, operand_lines(p, input, dims));
  Heads h{lines};
  if (transposed) {
    std::swap(h.dims[2], h.dims[3]);
    h.column = std::exchange(h.row, 1);
  }
  return h;
}

Result<Heads> result_heads(const Problem& p, const Dims& d, const Dims& have) {
  WOOTZ_ASSIGN_OR_RETURN(const HeadLines lines, result_lines(p, d, have));
  return Heads{lines};
}

}  // namespace wootz::cuda
