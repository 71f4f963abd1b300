// Sums on AMX of rows by tiles of columns, as attention has them. For files that are compiled for it.
#pragma once

#include "backends/cpu/simd/tiles_inl.h"

namespace wootz::cpu {
namespace {

// What tiles multiply: the element, the type of sums, and the instruction.
struct PairsOfBf16 {
  using Element = uint16_t;
  using Sum = float;
  template <int kTo, int kA, int kB>
  static void add() {
    tile_dot_bf16<kTo, kA, kB>();
  }
};
struct QuadsOfBytes {  // unsigned rows, signed columns
  using Element = uint8_t;
  using Sum = int32_t;
  template <int kTo, int kA, int kB>
  static void add() {
    tile_dot_u8_i8<kTo, kA, kB>();
  }
};

// kM x kN tiles of sums, in 0 to 3: (with `goes_on` +=) rows, in 4 and 5, by tiles of columns, in 6 and 7: `next`
// elements from one to the next of a sum, `beside` from one of a line to its neighbour.
template <class Product>
struct TileSums {
  const typename Product::Element *rows, *columns;
  int64_t stride, next, beside, steps;
  typename Product::Sum* to;
  int64_t to_stride;
  bool goes_on = false;
};
template <class Product, int kM, int kN>
void multiply(const TileSums<Product>& s) {
  using Element = typename Product::Element;
  using Sum = typename Product::Sum;
  constexpr int64_t kTileSide = 16, kSum = sizeof(Sum), kElement = sizeof(Element), kStep = kTileLine / kElement;
  Sum* const to[2] = {s.to, s.to + kTileSide * s.to_stride};
  if (s.goes_on) {
    tile_load<0>(to[0], s.to_stride * kSum);
    if constexpr (kN > 1) tile_load<1>(to[0] + kTileSide, s.to_stride * kSum);
    if constexpr (kM > 1) tile_load<2>(to[1], s.to_stride * kSum);
    if constexpr (kM > 1 && kN > 1) tile_load<3>(to[1] + kTileSide, s.to_stride * kSum);
  } else {
    tile_zero<0>();
    if constexpr (kN > 1) tile_zero<1>();
    if constexpr (kM > 1) tile_zero<2>();
    if constexpr (kM > 1 && kN > 1) tile_zero<3>();
  }
  const Element *rows = s.rows, *columns = s.columns;
  for (int64_t i = 0; i < s.steps; ++i, rows += kStep, columns += s.next) {
    tile_load<4>(rows, s.stride * kElement);
    if constexpr (kM > 1) tile_load<5>(rows + kTileSide * s.stride, s.stride * kElement);
    tile_load<6>(columns, kTileLine);
    if constexpr (kN > 1) tile_load<7>(columns + s.beside, kTileLine);
    Product::template add<0, 4, 6>();
    if constexpr (kN > 1) Product::template add<1, 4, 7>();
    if constexpr (kM > 1) Product::template add<2, 5, 6>();
    if constexpr (kM > 1 && kN > 1) Product::template add<3, 5, 7>();
  }
  tile_store<0>(to[0], s.to_stride * kSum);
  if constexpr (kN > 1) tile_store<1>(to[0] + kTileSide, s.to_stride * kSum);
  if constexpr (kM > 1) tile_store<2>(to[1], s.to_stride * kSum);
  if constexpr (kM > 1 && kN > 1) tile_store<3>(to[1] + kTileSide, s.to_stride * kSum);
}
template <class Product, int kM>
void all_columns(TileSums<Product> s, int64_t tiles) {
  constexpr int64_t kTileSide = 16;
  for (; tiles >= 2; tiles -= 2, s.columns += 2 * s.beside, s.to += 2 * kTileSide) multiply<Product, kM, 2>(s);
  if (tiles > 0) multiply<Product, kM, 1>(s);
}

}  // namespace
}  // namespace wootz::cpu
