// A plane transposed in blocks that stay in the first-level cache.
#pragma once

#include <cstdint>

namespace wootz::cpu {

// out[i * out_stride + j] = in[j * in_stride + i] for i < rows, j < columns; strides in elements of 1, 2, 4 or 8 bytes.
void transpose_plane(const char* in, int64_t in_stride, char* out, int64_t out_stride, int64_t rows, int64_t columns,
                     int bytes);

}  // namespace wootz::cpu
