// Products and convolutions of 8 bits (families.md): their scales, read once for all kernels.
#pragma once

#include "backend/problem.h"
#include "base/status.h"

namespace wootz {

// The grids of a convolution, a product or an average; of other problems, and where there are none, empty lists.
struct Grids {
  const Floats *x_scale, *x_zero, *w_scale, *w_zero;
};
Grids grids_of(const Problem& problem);
void drop_grids(Problem* problem);
// A convolution or product with a bias.
bool has_bias(const Problem& problem);

// Whether the family reads its data as values of a grid.
bool has_scales(const Problem& problem);

struct GemmScales {
  bool given = false;  // the data have a scale, and not merely 1 for want of one
  double x = 1;
  std::vector<double> w;  // one, or one a column of the result
  int32_t x_zero = 0, w_zero = 0;
  double of(int64_t column) const { return x * w[w.size() == 1 ? 0 : static_cast<size_t>(column)]; }
};
// Errors: several scales or zero points of the data, zero points that their types do not hold or that differ from
// column to column, scales for another number of columns.
Result<GemmScales> read_gemm_scales(const Problem& problem, int64_t columns);

}  // namespace wootz
