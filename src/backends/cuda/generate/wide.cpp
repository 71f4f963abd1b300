// Families gemm and conv of 16-bit floats by constant weights, large ones on 9.0a: gemm/wide.cuh.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>

#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/tile.h"
#include "backends/cuda/support/int8_weights.h"

namespace wootz::cuda {
namespace {

constexpr int64_t kLine = 128, kPieces = 8, kInOrder = 32;

// At concrete extents. Errors: what these kernels do not compute, and why.
Result<TileProduct> describe_wide(const Problem& p, const BindArgs& args) {
  WOOTZ_ASSIGN_OR_RETURN(const TileProduct b, describe_half(p, args));
  if (!b.by_sixteen()) return unsupported("{} channels, not a multiple of 8", b.channels);
  if (b.columns % 8 != 0) return unsupported("{} columns, not a multiple of 8", b.columns);
  if (args.constant_bytes.size() > 1 && args.constants[1] != nullptr &&
      args.constant_bytes[1] < static_cast<size_t>(b.padded_columns() * b.pitch() * b.size))
    return invalid_argument("{} bytes of packed weights for {}", args.constant_bytes[1], args.inputs[1].to_string());
  return b;
}

// The column at place `i`: a thread's sums of thirty-two columns, pairs eight columns apart, are neighbours so.
int64_t column_at(int64_t i) {
  const int64_t in = i % kInOrder;
  return i - in + in % 8 / 2 * 8 + in / 8 * 2 + in % 2;
}

// Columns of whole lines as they lie in shared memory: a line of each, then the next of each.
std::vector<std::byte> in_blocks(const WeightColumns& from) {
  const int64_t padded = (from.columns + 63) / 64 * 64, bytes = static_cast<int64_t>(from.bytes.size());
  const int64_t pitch = from.columns == 0 ? 0 : bytes / from.columns, lines = pitch / kLine;
  std::vector<std::byte> to(static_cast<size_t>(padded * pitch));
  for (int64_t i = 0; i < padded; ++i) {
    const int64_t column = column_at(i);
    if (column >= from.columns) continue;
    for (int64_t piece = 0; piece < lines * kPieces; ++piece) {
      const int64_t line = piece / kPieces * padded + i, at = (piece % kPieces) ^ (i % kPieces);
      std::memcpy(&to[static_cast<size_t>(line * kLine + at * 16)],
                  &from.bytes[static_cast<size_t>(column * pitch + piece * 16)], 16);
    }
  }
  return to;
}

// On an H100: a start, and for each tile after the other its stages and its results.
double wide_us(const Problem& p, const TileProduct& b, const Tile& t) {
  constexpr double kStartUs = 3, kProcessors = 132, kStageUs = 0.43, kMacsPerUs = 3.1e6, kResultsPerUs = 8e3;
  constexpr double kMemoryBytesPerUs = 2.4e6;
  const auto parts = [](int64_t count, int64_t each) { return static_cast<double>((count + each - 1) / each); };
  const double tiles = parts(b.rows, t.rows * t.cluster) * parts(b.columns, t.columns) * t.cluster;
  const double results = static_cast<double>(t.rows) * t.columns;
  const double stage = std::max(kStageUs, results * static_cast<double>(t.line / b.size) / kMacsPerUs);
  const double each = parts(b.pitch(), t.line / b.size) * stage + results / kResultsPerUs;
  return kStartUs + std::max(std::ceil(tiles / kProcessors) * each, bytes_of(p) / kMemoryBytesPerUs);
}

}  // namespace

Result<std::optional<PackedForm>> pack_wide(const Problem& p, int input, const HostTensor& source) {
  if (input != 1) return std::optional<PackedForm>{};
  const int64_t columns = columns_of(p, source.dims()), padded = (columns + 63) / 64 * 64;
  const auto size = static_cast<int64_t>(dtype_bytes(source.dtype(), 1));
  const int64_t column = columns == 0 ? 0 : source.volume() / columns * size;
  const auto bytes = static_cast<size_t>(padded * ((column + kLine - 1) / kLine * kLine));
  return std::optional(packed_by(
      bytes, [&p, source]() -> Result<std::vector<std::byte>> { return in_blocks(weight_columns(p, source, kLine)); }));
}

Status generate_wide(const Problem& p, const BindArgs& args, size_t tile, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const TileProduct b, describe_wide(p, args));
  if (b.rows * b.columns == 0) return Status();
  return write_tile(p, args, b, kWideTiles[tile], {storage_type(p.inputs[1].dtype), "float", true, false}, launches);
}

// 0: two other tiles are better at these extents, or a library is sure to be.
double estimate_wide(const Problem& p, size_t tile) {
  constexpr size_t kMost = 2;
  constexpr double kHopeless = 1.6, kMacsPerUs = 4e7, kLeastMacs = 2e8;
  std::vector<Dims> in, out;
  for (const TensorDesc& t : p.inputs) in.push_back(t.dims);
  for (const TensorDesc& t : p.outputs) out.push_back(t.dims);
  const Result<TileProduct> b = describe_wide(p, {in, out, {}});
  if (!b.ok()) return 0;
  const double macs = static_cast<double>(b->rows) * static_cast<double>(b->columns) * static_cast<double>(b->depth());
  const double own = wide_us(p, *b, kWideTiles[tile]);
  size_t better = 0;
  for (size_t i = 0; i < std::size(kWideTiles); ++i) {
    const double us = wide_us(p, *b, kWideTiles[i]);
    better += us < own || (us == own && i < tile);
  }
  if (better >= kMost || macs < kLeastMacs || own > kHopeless * library_us(macs, bytes_of(p))) return 0;
  return std::max(own, macs / kMacsPerUs);
}

}  // namespace wootz::cuda
