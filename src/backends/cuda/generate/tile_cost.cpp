#include "backends/cuda/generate/tile_cost.h"

#include <algorithm>
#include <cmath>

namespace wootz::cuda {
namespace {

// A start; the slowest of what a multiprocessor multiplies and reads, what the L2 gives, the memory, and waiting for
// one stage after the other; the way of the results, by way of the other blocks of a cluster.
double tile_us(const Problem& p, const TileProduct& b, const Tile& tile, const TileCosts& c) {
  if (b.norm && !can_normalize(tile, b)) return INFINITY;
  const Tile t = with_room_for(tile, b);
  constexpr double kProcessors = 132, kMemoryBytesPerUs = 3.3e6;
  const auto parts = [](int64_t count, int64_t each) { return static_cast<double>((count + each - 1) / each); };
  const double blocks = parts(b.rows, t.rows) * parts(b.columns, t.columns) * static_cast<double>(t.cluster * b.batch);
  const int64_t step = t.line / b.size * t.shares * t.cluster;
  const double each = std::ceil(blocks / kProcessors), stages = parts(b.pitch(), step);
  // Elements that are fetched one by one take so much longer.
  const double fetching = b.by_sixteen() ? 1 : b.by_eight() ? 1.3 : 4;
  const size_t operands = p.inputs.size() - static_cast<size_t>(p.num_main);
  const double at_once = b.size == 2 ? resident_blocks(for_depth(t, b), b, operands) : t.at_once();
  const double stage_bytes = static_cast<double>(t.shares) * (t.rows + t.columns) * t.line;
  // Products that give sums and squares of rows are as many as those for 24 columns; then a barrier or two.
  constexpr double kStatisticsUs = 0.2;
  const double results = static_cast<double>(t.rows) * t.columns, statistics = b.norm ? t.rows * 24.0 : 0;
  const double macs = each * stages * static_cast<double>(t.line / b.size * t.shares) * (results + statistics) / c.macs;
  const double read = each * stages * stage_bytes / c.bytes, l2 = blocks * stages * stage_bytes / c.l2_bytes;
  const double waiting = std::ceil(blocks / (kProcessors * at_once)) * (c.first + stages * c.stage * fetching);
  // As measured: sums that go from registers to the result save a barrier and a way by shared memory.
  constexpr double kDirectUs = 0.3;
  const double saved = b.size == 2 && t.direct() && b.columns % 8 == 0 && !b.planes ? kDirectUs : 0;
  return c.start - saved + (b.norm ? kStatisticsUs : 0) +
         std::max({macs, read, l2, waiting, bytes_of(p) / kMemoryBytesPerUs}) + each * results / c.stores +
         (t.cluster > 1 ? c.cluster + c.block * t.cluster : 0);
}

}  // namespace

double bytes_of(const Problem& p) {
  double bytes = 0;
  for (const TensorDesc& d : p.inputs) bytes += static_cast<double>(dtype_bytes(d.dtype, d.dims.volume()));
  for (const TensorDesc& d : p.outputs) bytes += static_cast<double>(dtype_bytes(d.dtype, d.dims.volume()));
  return bytes;
}

TileEstimate estimate_tile(const Problem& p, const TileProduct& b, std::span<const Tile> tiles, size_t tile,
                           const TileCosts& costs, size_t most) {
  constexpr double kWorse = 1.5;
  TileEstimate e{tile_us(p, b, tiles[tile], costs), INFINITY, false};
  constexpr int kEverywhere = 80;  // the capability that every GPU has
  bool first = tiles[tile].capability() == kEverywhere;
  size_t better = 0;
  for (size_t i = 0; i < tiles.size(); ++i) {
    const double us = tile_us(p, b, tiles[i], costs);
    e.best_us = std::min(e.best_us, us);
    if (!(us < e.us || (us == e.us && i < tile))) continue;
    ++better;
    first = first && tiles[i].capability() > kEverywhere;
  }
  e.suits = first || (better < most && e.us <= kWorse * e.best_us);
  return e;
}

double copy_us(double bytes) { return 1 + 2 * bytes / 3.3e6; }

double norm_us(double bytes) { return 0.6 + copy_us(bytes); }

double library_us(double macs, double bytes) { return 3 + macs / 2.5e8 + bytes / 3.3e6; }

}  // namespace wootz::cuda
