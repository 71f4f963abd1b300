// Functions of kernels that multiply by wgmma (gemm/feed.cuh, gemm/sparse_mma.cuh, gemm/turned.cuh), for sums of so
// many columns.
#pragma once

#include <string>

#include "base/dtype.h"

namespace wootz::cuda {

// w_wide_mma(): products of 64 rows and all columns of a tile, both in shared memory.
std::string wide_product(int columns, DType rows, DType weights);
// w_sparse_mma(): of 64 lines that have two elements for each four of a sum, in shared memory as the tile's columns.
std::string sparse_product(int columns, DType type);
// w_turned_mma(): of 64 rows in registers, columns in lines of what each part of a sum multiplies.
std::string turned_product(int columns, DType type);

}  // namespace wootz::cuda
