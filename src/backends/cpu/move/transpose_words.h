// Planes of elements of four bytes, transposed with AVX2.
#pragma once

#include <cstdint>

namespace wootz::cpu {

// As transpose_plane(); `rows` and `columns` are 8 or more. Bits stay as they are, whatever they mean.
void transpose_words_avx2(const float* in, int64_t in_stride, float* out, int64_t out_stride, int64_t rows,
                          int64_t columns);

}  // namespace wootz::cpu
