#include "backends/cuda/heads.h"

#include <utility>

namespace wootz::cuda {

Result<Heads> operand_heads(const Problem& p, int input, const Dims& dims) {
  constexpr const char* kViews[] = {"q_view", "k_view", "v_view"};
  const char* name = kViews[input];
  const bool transposed = input == 1 && p.get_int("k_transposed") != 0;
  if (transposed && p.params.count(std::string_view(name)) != 0)
    return unsupported("attention: a view of transposed keys");
  WOOTZ_ASSIGN_OR_RETURN(const HeadLines lines, operand_lines(p, name, dims));
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
