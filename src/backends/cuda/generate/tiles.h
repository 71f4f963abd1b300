// The tiles of products on tensor cores, as constants and by name.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace wootz::cuda {

// How a block computes its part of the result: `rows` x `columns` of it by warps_m x warps_n warps, and `shares` times
// as many warps that divide the sum among them; as do `cluster` blocks. A stage has `line` bytes of each row and column
// for each share: memory is read by requests of so many.
struct Tile {
  std::string_view name;  // as it stands in the names of kernels
  int rows, columns, warps_m, warps_n, shares, stages, cluster = 1, line = 128;
  int gates = 0;  // further lines of a stage, for each share
  int notes = 0;  // bytes behind the stages
  // A thread's sums may be of eight neighbours of a row, and go from registers to the result.
  constexpr bool direct() const { return shares == 1 && cluster == 1 && columns / warps_n % 32 == 0; }
  constexpr int threads() const { return 32 * warps_m * warps_n * shares; }
  constexpr int bytes() const {  // of shared memory
    return stages * shares * (rows + columns + gates) * line + (cluster > 1 ? rows * columns * 4 + 16 : 0) + notes;
  }
  // Blocks that a Hopper GPU's multiprocessor has room for, of two at most: more of them make nothing faster.
  constexpr int at_once() const { return 2 * bytes() <= (227 << 10) ? 2 : 1; }
  // The least: clusters are there from 9.0 on, and so much shared memory on no GPU between 8.0 and that.
  constexpr int capability() const { return cluster > 1 || bytes() > (99 << 10) ? 90 : 80; }
};
inline constexpr Tile kInt8Tiles[] = {
#define INT8_TILE(...) {__VA_ARGS__},
#include "backends/cuda/generate/int8_tiles.inc"
#undef INT8_TILE
};
inline constexpr Tile kHalfTiles[] = {
#define HALF_TILE(...) {__VA_ARGS__},
#include "backends/cuda/generate/half_tiles.inc"
#undef HALF_TILE
};
template <class T>
consteval size_t tile_named(std::span<const T> tiles, std::string_view name) {
  size_t i = 0;
  while (tiles[i].name != name) ++i;  // does not compile for a name that is not there
  return i;
}
consteval size_t int8_tile(std::string_view name) { return tile_named(std::span<const Tile>(kInt8Tiles), name); }
consteval size_t half_tile(std::string_view name) { return tile_named(std::span<const Tile>(kHalfTiles), name); }

}  // namespace wootz::cuda
