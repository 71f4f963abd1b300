// The inner loops of weight-only products: weights of 4 or 8 bits become f32 in registers, beside a few rows of f32, or
// a piece of a panel becomes what the tile of floats reads (tile.h).
#pragma once

#include <cstdint>

#include "base/cpu_info.h"
#include "base/dtype.h"

namespace wootz::cpu {

// Packed weights: panels of so many columns; in a panel, groups of eight elements along the sum. A column of a group is
// 32 bits of 4, the first element in the lowest; of 8 bits, elements follow one another, a byte for each column.
inline constexpr int64_t kNarrowPanel = 32, kNarrowGroup = 8, kMostNarrowRows = 8;

// Scales as they lie in memory: floats, or bytes of E4M3 or E8M0, which `factor` is to be multiplied with.
enum class NarrowScale : uint8_t { kF32, kE4M3, kE8M0 };

// What is known of a panel's columns, by block: scales, and zero points of the weights' own sign in 8 bits, or null.
// Blocks are `stride` apart.
struct NarrowGrid {
  int64_t block = 0;  // elements, a multiple of a group
  const void* scale = nullptr;
  const uint8_t* zero = nullptr;
  int64_t stride = 0;
  NarrowScale kind = NarrowScale::kF32;
  float factor = 1;  // of bytes
};

struct NarrowRows {
  const uint8_t* weights = nullptr;  // of a panel
  int64_t depth = 0;                 // a multiple of a group; rows are so long
  NarrowGrid grid;
  const float* x = nullptr;  // row i begins at x + i * x_stride
  int64_t x_stride = 0;
  const float* x_sums = nullptr;  // with zero points: each block's, row i at x_sums + i * sums_stride
  int64_t sums_stride = 0;
  float* out = nullptr;  // a whole panel; row i begins at out + i * stride
  int64_t stride = 0;
};

struct NarrowPiece {
  const uint8_t* weights = nullptr;  // of a panel
  int64_t first = 0, length = 0;     // elements along the sum; `first` is a multiple of a group
  NarrowGrid grid;
  float* out = nullptr;  // [panel / wide][length][wide]; room for `length` as a multiple of a group
  int64_t wide = 0;
};

// What the scales are multiplied by: a weight of E4M3, and a scale of it, are read as so much less.
inline constexpr float kE4M3Factor = 256;
inline float narrow_factor(DType weights) { return weights == DType::kF8E4M3 ? kE4M3Factor : 1.0F; }

struct NarrowOps {
  void (*rows)(const NarrowRows& rows, int64_t count);  // count <= kMostNarrowRows
  void (*unpack)(const NarrowPiece& piece);
};
// Of i4, u4, i8, u8, f4e2m1, f8e4m3 or f8e5m2; floats have no zero points.
const NarrowOps& narrow_ops(Isa isa, DType weights);
// f16 or bf16 to f32.
void widen_floats(Isa isa, DType type, const void* from, int64_t n, float* to);

}  // namespace wootz::cpu
