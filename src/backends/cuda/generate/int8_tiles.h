// The tiles of the 8-bit products, as constants and by name.
#pragma once

#include <cstddef>
#include <string_view>

namespace wootz::cuda {

// How a block computes its part of the result: `rows` x `columns` of it by warps_m x warps_n warps, and `shares` times
// as many warps that divide the sum among them.
struct Int8Tile {
  std::string_view name;  // as it stands in the names of kernels
  int rows, columns, warps_m, warps_n, shares, stages;
  int threads() const { return 32 * warps_m * warps_n * shares; }
  int bytes() const { return stages * shares * (rows + columns) * 64; }  // of shared memory
};
inline constexpr Int8Tile kInt8Tiles[] = {
#define INT8_TILE(...) {__VA_ARGS__},
#include "backends/cuda/generate/int8_tiles.inc"
#undef INT8_TILE
};
consteval size_t int8_tile(std::string_view name) {
  size_t i = 0;
  while (kInt8Tiles[i].name != name) ++i;  // does not compile for a name that is not there
  return i;
}

}  // namespace wootz::cuda
