// Families gemm and conv of 16-bit floats by constant weights on tensor cores: which of them, and which tiles suit.
#include <algorithm>
#include <iterator>

#include "backend/operand_dims.h"
#include "backends/cuda/generate/expression.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/kernel_source.h"
#include "backends/cuda/generate/kernels.h"
#include "backends/cuda/generate/normalized_form.h"
#include "backends/cuda/generate/tile.h"
#include "backends/cuda/generate/tile_cost.h"
#include "backends/cuda/generate/tile_reads.h"
#include "backends/cuda/support/int8_weights.h"

namespace wootz::cuda {
namespace {

constexpr int64_t kPitchStep = 128;  // of packed columns, in bytes

constexpr TileCosts kCosts{1, 0.66, 0.23, 0.52, 0.2, 7.8e5, 8.3e4, 9.5e3, 6.2e6};

double size_of(const TensorDesc& t) { return static_cast<double>(dtype_bytes(t.dtype, t.dims.volume())); }

double multiplications(const TileProduct& b) {
  return static_cast<double>(b.rows) * static_cast<double>(b.columns) * static_cast<double>(b.depth());
}

// Of siblings, a step each.
double apart_us(const TileReads& g, const TileProduct& all) {
  double us = 0;
  for (const int64_t columns : g.parts) {
    Problem p = g.problem;
    p.outputs[0].dims[1] = p.inputs[1].dims[0] = columns;
    TileProduct b = all;
    b.columns = columns;
    us += std::min(estimate_tile(p, b, kHalfTiles, 0, kCosts, 1).best_us, library_us(multiplications(b), bytes_of(p)));
  }
  return us;
}

}  // namespace

Result<TileProduct> describe_half(const TileReads& g, const BindArgs& args) {
  const Problem& p = g.problem;
  const DType x = p.inputs.empty() ? DType::kInvalid : p.inputs[0].dtype;
  if ((x != DType::kF16 && x != DType::kBF16) || p.inputs.size() < 2 || p.inputs[1].dtype != x)
    return unsupported("{} on tensor cores of 16-bit floats", dtype_name(x));
  if (!p.inputs[1].constant) return unsupported("weights that are not constant");
  const bool conv = p.is(Family::kConv);
  if (!(conv ? p.as<ConvParams>().x_scale.empty() : p.as<GemmParams>().x_scale.empty()))
    return unsupported("a product with scales");
  WOOTZ_ASSIGN_OR_RETURN(TileProduct b, describe_tile(p, {g.dims, g.made, {}}));
  b.line = kPitchStep;
  b.x = g.x;
  b.gate = g.gate;
  b.gate_type = x;
  b.w = g.w;
  b.joined = g.joined;
  b.norm = g.norm;
  b.parts = g.parts;
  constexpr int64_t kVector = 8;  // results are stored by as many, or by four
  if (b.planes && !b.parts.empty()) return unsupported("siblings by planes");
  for (const int64_t columns : b.parts)
    if (columns % kVector != 0) return unsupported("{} columns of a sibling", columns);
  const auto by_sixteen = [&](int64_t channels) { return channels * b.size % 16 == 0; };
  if ((g.gate >= 0 || !g.joined.empty()) &&
      (b.window || !by_sixteen(b.channels) || !std::all_of(b.joined.begin(), b.joined.end(), by_sixteen)))
    return unsupported("a window, or channels that are not read by 16 bytes, of what is made while it is read");
  if (b.norm) {
    if (p.outputs[0].layout != Layout::kLinear || conv) return unsupported("normalized rows of images");
    if (b.norm->kept && (args.outputs.size() != 2 || !(args.outputs[1] == args.inputs[0])))
      return invalid_argument("normalized rows of {}", args.inputs[0].to_string());
  }
  WOOTZ_RETURN_IF_ERROR(check_epilogue(p, x));
  if (p.num_main == 3) WOOTZ_RETURN_IF_ERROR(check_type(p.inputs[2].dtype));
  if (!conv) b.scale = p.as<GemmParams>().alpha;
  // Packed weights of a plan's: as long as the kernel believes.
  const auto w = static_cast<size_t>(g.w);
  if (args.constant_bytes.size() > w && args.constants[w] != nullptr &&
      args.constant_bytes[w] < static_cast<size_t>(b.columns * b.pitch() * b.size + b.norm_table_bytes()))
    return invalid_argument("{} bytes of packed weights for {}", args.constant_bytes[w], args.inputs[w].to_string());
  return b;
}

Result<std::optional<PackedForm>> pack_half(const Problem& p, int input, const HostTensor& source) {
  WOOTZ_ASSIGN_OR_RETURN(TileReads g, tile_reads(p, operand_dims(p.inputs), operand_dims(p.outputs)));
  if (input != g.w) return std::optional<PackedForm>{};
  const int64_t columns = columns_of(g.problem, source.dims());
  const auto size = static_cast<int64_t>(dtype_bytes(source.dtype(), 1));
  const int64_t column = columns == 0 ? 0 : source.volume() / columns * size;
  const auto bytes = static_cast<size_t>(columns * ((column + kPitchStep - 1) / kPitchStep * kPitchStep));
  return std::optional(packed_by(bytes, [p = std::move(g.problem), source]() -> Result<std::vector<std::byte>> {
    return std::move(weight_columns(p, source, kPitchStep).bytes);
  }));
}

Result<std::optional<PackedForm>> pack_half_among(const Problem& p, int input, std::span<const HostTensor> sources) {
  WOOTZ_ASSIGN_OR_RETURN(TileReads g, tile_reads(p, operand_dims(p.inputs), operand_dims(p.outputs)));
  if (!g.norm || input != g.w) return pack_half(p, input, sources[static_cast<size_t>(input)]);
  const auto given = [&](int i) { return i < 0 ? HostTensor() : sources[static_cast<size_t>(i)]; };
  return std::optional(normalized_form(g.problem, sources[static_cast<size_t>(input)], given(g.norm->scale),
                                       given(g.norm->bias), kPitchStep));
}

Status generate_half(const Problem& p, const BindArgs& args, size_t tile, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const TileReads g, tile_reads(p, args.inputs, args.outputs));
  WOOTZ_ASSIGN_OR_RETURN(const TileProduct b, describe_half(g, args));
  if (b.rows * b.columns == 0) return Status();
  const char* const w = storage_type(g.problem.inputs[1].dtype);
  return write_tile(g.problem, {g.dims, g.made, {}}, b, kHalfTiles[tile], {w, "float", true, false, &p}, launches);
}

// 0: enough other tiles are better at these extents, or a library is sure to be: it need not be compiled to know it.
// What libraries are said to take where nothing is measured grows with the work more than what they take does: so do
// these.
double estimate_half(const Problem& p, size_t tile) {
  constexpr size_t kMost = 4, kMostNormed = 3;
  constexpr double kHopeless = 1.6, kNormed = 1.2, kMacsPerUs = 4e7;
  const std::vector<Dims> in = operand_dims(p.inputs), out = operand_dims(p.outputs);
  const Result<TileReads> g = tile_reads(p, in, out);
  if (!g.ok()) return 0;
  const Result<TileProduct> b = describe_half(*g, {in, out, {}});
  if (!b.ok()) return 0;
  const TileEstimate e = estimate_tile(g->problem, *b, kHalfTiles, tile, kCosts, b->norm ? kMostNormed : kMost);
  const double macs = multiplications(*b);
  const double library = library_us(macs, bytes_of(g->problem));
  // A chain is not measured beside its two steps, nor are siblings beside each by itself: they are not to take longer.
  // But a chain of a normalization is.
  double most_us = kHopeless * library;
  if (b->norm) {
    TileProduct alone = *b;
    alone.norm.reset();
    most_us = kNormed * (std::min(library, estimate_tile(g->problem, alone, kHalfTiles, tile, kCosts, kMost).best_us) +
                         norm_us(size_of(g->problem.inputs[0])));
  } else if (p.is(Family::kSiblings)) {
    most_us = apart_us(*g, *b);
  } else if (p.is(Family::kChain)) {
    most_us = library + copy_us(size_of(g->problem.inputs[0]));
  }
  if (!e.suits || e.best_us > most_us) return 0;
  // Those that the multiplications alone make alike stand in their order.
  constexpr double kOrder = 1e-3;
  return std::max(e.us, macs / kMacsPerUs) + kOrder * e.us;
}

bool makes_planes(const Problem& p) {
  const TensorDesc& y = p.outputs[0];
  return p.is(Family::kConv) && y.dims.rank() > 2 && (y.dtype == DType::kF32 || y.dims[1] % 8 != 0);
}

bool has_half_tiles(const Problem& p) {
  for (size_t tile = 0; tile < std::size(kHalfTiles); ++tile)
    if (estimate_half(p, tile) > 0) return true;
  return false;
}

}  // namespace wootz::cuda
