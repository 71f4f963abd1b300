// Families gemm and conv of 8-bit operands, the latter of several images whose channels follow on each other, too:
// which of them, what their constants look like, and which tile suits.
#include <algorithm>
#include <cmath>

#include "backend/operand_dims.h"
#include "backend/quantized.h"
#include "backends/cuda/generate/expression.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/kernel_source.h"
#include "backends/cuda/generate/tile.h"
#include "backends/cuda/generate/tile_cost.h"
#include "backends/cuda/generate/tile_reads.h"
#include "backends/cuda/support/int8_weights.h"

namespace wootz::cuda {
namespace {

constexpr int64_t kPitchStep = 64;  // of packed columns, in bytes

// What multiplying by a gate takes: instructions for a byte, by each warp of columns again.
double gate_us(const TileProduct& b, const Tile& tile) {
  constexpr double kInstructions = 6, kPerUs = 4 * 32 * 1700.0, kMultiprocessors = 132;
  const auto parts = [](int64_t count, int64_t each) { return static_cast<double>((count + each - 1) / each); };
  const double blocks = parts(b.rows, tile.rows) * parts(b.columns, tile.columns) * tile.cluster;
  const double schedulers = std::min(1.0, tile.warps_m * tile.warps_n * tile.shares / 4.0);
  const double bytes = static_cast<double>(b.depth() * tile.rows * tile.warps_n) / tile.cluster;
  return std::ceil(blocks / kMultiprocessors) * bytes * kInstructions / (kPerUs * schedulers);
}

constexpr TileCosts kCosts{0.95, 0.9, 0.4, 0.2, 0.01, 1.35e6, 2.7e5, 5e3, 4.6e6};

// What follows the scales and corrections of packed columns: the epilogue's constants, and the factor of a gate.
std::vector<float> floats_after_tables(const TileReads& g) {
  std::vector<float> floats;
  with_constants_as_operands(g.problem.epilogue, &floats);
  if (g.gate >= 0) floats.push_back(static_cast<float>(g.factor));
  return floats;
}

// At concrete extents. Errors: what these kernels do not compute, and why.
Result<TileProduct> describe_int8(const TileReads& g, const BindArgs& args) {
  const Problem& p = g.problem;
  const DType x = p.inputs.empty() ? DType::kInvalid : p.inputs[0].dtype;
  if (!is_int8(x) || p.inputs.size() < 2 || p.inputs[1].dtype != DType::kI8)
    return unsupported("{} by {}", dtype_name(x),
                       dtype_name(p.inputs.size() < 2 ? DType::kInvalid : p.inputs[1].dtype));
  if (g.norm || !g.parts.empty()) return unsupported("normalized bytes, or siblings");
  WOOTZ_ASSIGN_OR_RETURN(TileProduct b, describe_tile(p, {g.dims, g.made, {}}));
  b.x = g.x;
  b.w = g.w;
  b.joined = g.joined;
  b.gate = g.gate;
  if (g.gate >= 0) b.gate_type = g.gate_type;
  const auto by_sixteen = [](int64_t channels) { return channels % 16 == 0; };
  if ((b.gate >= 0 || !b.joined.empty()) &&
      (b.window || !by_sixteen(b.channels) || !std::all_of(b.joined.begin(), b.joined.end(), by_sixteen)))
    return unsupported("a window, or channels that are not read by 16 bytes, of what is made while it is read");
  if (p.num_main == 3 && p.inputs[2].dtype != DType::kF32)
    return unsupported("a bias of {}", dtype_name(p.inputs[2].dtype));
  WOOTZ_RETURN_IF_ERROR(check_epilogue(p, DType::kF32));
  WOOTZ_ASSIGN_OR_RETURN(const GemmScales s, int8_scales(p, b.columns));
  b.zero = s.x_zero;
  b.scale = s.of(0);
  b.scaled = b.packed;
  b.line = kPitchStep;
  if (!b.packed && b.zero != 0) return unsupported("a product of two activations with a zero point");
  // Packed weights of a plan's: as long as the kernel believes.
  const auto w = static_cast<size_t>(g.w);
  if (b.packed && args.constant_bytes.size() > w && args.constants[w] != nullptr) {
    const size_t floats = static_cast<size_t>(2 * b.columns) + floats_after_tables(g).size();
    if (args.constant_bytes[w] < static_cast<size_t>(b.columns * b.pitch()) + floats * sizeof(float))
      return invalid_argument("{} bytes of packed weights for {}", args.constant_bytes[w], args.inputs[w].to_string());
  }
  return b;
}

// Columns with their taps outermost, padded with zeros; then a scale and a correction for each column, and the
// epilogue's constants.
Result<std::vector<std::byte>> columns_with_tables(const TileReads& g, const HostTensor& source, const GemmScales& s) {
  const Problem& p = g.problem;
  Int8Columns packed = int8_columns(p, source, kPitchStep);
  std::vector<float> scales;
  std::vector<int32_t> corrections;
  for (int64_t n = 0; n < packed.columns; ++n) {
    scales.push_back(static_cast<float>(s.of(n)));
    corrections.push_back(static_cast<int32_t>(packed.sums[static_cast<size_t>(n)] * s.x_zero));
  }
  std::vector<std::byte>& out = packed.bytes;
  const std::vector<float> constants = floats_after_tables(g);
  const auto add = [&](const void* data, size_t bytes) {
    const auto* at = static_cast<const std::byte*>(data);
    out.insert(out.end(), at, at + bytes);
  };
  add(scales.data(), scales.size() * sizeof(float));
  add(corrections.data(), corrections.size() * sizeof(int32_t));
  add(constants.data(), constants.size() * sizeof(float));
  return std::move(out);
}

}  // namespace

Result<std::optional<PackedForm>> pack_int8(const Problem& problem, int input, const HostTensor& source) {
  WOOTZ_ASSIGN_OR_RETURN(TileReads g, tile_reads(problem, operand_dims(problem.inputs), operand_dims(problem.outputs)));
  if (input != g.w) return std::optional<PackedForm>{};
  const Problem& p = g.problem;
  const int64_t columns = columns_of(p, source.dims());
  WOOTZ_ASSIGN_OR_RETURN(const GemmScales s, int8_scales(p, columns));
  const int64_t depth = columns == 0 ? 0 : source.volume() / columns;
  const size_t tables = (static_cast<size_t>(2 * columns) + floats_after_tables(g).size()) * sizeof(float);
  const auto weights = static_cast<size_t>(columns * ((depth + kPitchStep - 1) / kPitchStep * kPitchStep));
  return std::optional(
      packed_by(weights + tables, [own = std::move(g), source, s] { return columns_with_tables(own, source, s); }));
}

Status generate_int8(const Problem& p, const BindArgs& args, size_t tile, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const TileReads g, tile_reads(p, args.inputs, args.outputs));
  WOOTZ_ASSIGN_OR_RETURN(const TileProduct b, describe_int8(g, args));
  if (b.rows * b.batch * b.columns == 0) return Status();
  if (with_room_for(kInt8Tiles[tile], b).capability() > kInt8Tiles[tile].capability())
    return unsupported("a gate beyond shared memory");
  if (!b.packed && kInt8Tiles[tile].cluster > 1) return unsupported("sums of several matrices shared in a cluster");
  return write_tile(g.problem, {g.dims, g.made, {}}, b, kInt8Tiles[tile], {"s8", "int", transient(p, args), true},
                    launches);
}

// 0: enough other tiles are better at these extents: it need not be compiled to know it.
double estimate_int8(const Problem& p, size_t tile) {
  constexpr size_t kMost = 4;
  constexpr double kMostPassing = 1.5;  // what a step of its own takes
  const std::vector<Dims> in = operand_dims(p.inputs), out = operand_dims(p.outputs);
  const Result<TileReads> g = tile_reads(p, in, out);
  if (!g.ok()) return 0;
  const Result<TileProduct> b = describe_int8(*g, {in, out, {}});
  if (!b.ok()) return 0;
  const TileEstimate e = estimate_tile(g->problem, *b, kInt8Tiles, tile, kCosts, kMost);
  if (!e.suits || b->gate < 0) return e.suits ? e.us : 0;
  const double passing = gate_us(*b, kInt8Tiles[tile]);
  return passing < kMostPassing ? e.us + passing : 0;
}

}  // namespace wootz::cuda
