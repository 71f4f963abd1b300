// Family gemm with w_block: a few rows of 16-bit floats times constant weights of 4 bits on tensor cores. They are
// packed as the threads of a warp hold them in products: 16 columns by 64 of the sum are 16 bytes of each. The rows may
// be normalized on the way, by every block for itself.
#include <algorithm>
#include <cstring>

#include "backend/operand_dims.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/row_packs.h"
#include "backends/cuda/generate/weight_only.h"

namespace wootz::cuda {
namespace {

constexpr int64_t kTile = 16, kChunk = 64, kTileBytes = kTile * kChunk / 2;
constexpr int64_t kMostRows = 32, kMostNormed = 8, kMostWarps = 16, kMostEach = 32, kMostAhead = 8;

struct WeightTiles : NarrowProduct {
  int64_t chunks() const { return depth / kChunk; }
  int64_t tiles() const { return (columns + kTile - 1) / kTile; }
  size_t weight_bytes() const { return static_cast<size_t>(tiles() * chunks() * kTileBytes); }
  size_t grid() const { return static_cast<size_t>(tiles() * blocks() * kTile); }  // scales, and zero points
  // So many that all of the matrix is on its way at once, if each has few chunks.
  int64_t warps() const {
    const int64_t least = tiles() >= 256 ? 4 : 2;  // chunks of each
    int64_t w = 1;
    while (w < kMostWarps && w * least < chunks()) w *= 2;
    return w;
  }
  int64_t each() const { return (chunks() + warps() - 1) / warps(); }
  int64_t at_once() const { return rows > 4 ? 8 : rows > 2 ? 4 : rows > 1 ? 2 : 1; }  // rows of a block
};

Result<WeightTiles> tiles_of(const Problem& p, std::span<const Dims> in, const Dims& y) {
  WeightTiles n;
  WOOTZ_ASSIGN_OR_RETURN(static_cast<NarrowProduct&>(n), narrow_product(p, in, y));
  if (n.bits != 4 || p.inputs[0].dtype == DType::kF32)
    return unsupported("{} by weights of {} bits on tensor cores", dtype_name(p.inputs[0].dtype), n.bits);
  if (n.depth % kChunk != 0 || (n.block < n.depth && n.block % kChunk != 0))
    return unsupported("sums of {} in blocks of {}: no multiples of {}", n.depth, n.block, kChunk);
  if (n.each() > kMostEach) return unsupported("a sum of {}", n.depth);
  return n;
}

Result<WeightTiles> at_optimum(const NarrowStep& s) { return tiles_of(s.product, operand_dims(s.product.inputs), s.y); }

// Bit i * 4 of word s of thread `lane`: of product s, weights i and i + 4 are the halves of operand i.
PackedForm packed_weights(const Problem& p, const WeightTiles& n, const HostTensor& source) {
  const bool transposed = p.as<GemmParams>().trans_b;
  return {n.weight_bytes(), [n, transposed, source](std::span<std::byte> to) {
            for (int64_t at = 0; at < n.tiles() * n.chunks() * 32 * 4; ++at) {
              const int64_t s = at % 4, lane = at / 4 % 32, chunk = at / 128 % n.chunks(), tile = at / 128 / n.chunks();
              uint32_t word = 0;
              for (int64_t i = 0; i < 8; ++i) {
                const int64_t m = tile * kTile + lane / 4 + i % 2 * 8;
                const int64_t k = chunk * kChunk + lane % 4 * 16 + s * 4 + i / 2 % 2 * 2 + i / 4;
                if (m < n.columns)
                  word |= uint32_t{packed_bits(source, transposed ? m * n.depth + k : k * n.columns + m)} << (i * 4);
              }
              std::memcpy(to.data() + at * 4, &word, 4);
            }
            return Status();
          }};
}

// Scales or zero points: of 16 columns one beside the other, block after block.
PackedForm packed_grid(const WeightTiles& n, const HostTensor& source) {
  const bool packed = dtype_bits(source.dtype()) < 8;
  const size_t size = packed ? 1 : dtype_bytes(source.dtype(), 1);
  return {n.grid() * size, [n, source, packed, size](std::span<std::byte> to) {
            std::fill(to.begin(), to.end(), std::byte{0});
            for (int64_t m = 0; m < n.columns; ++m)
              for (int64_t b = 0; b < n.blocks(); ++b) {
                const int64_t from = b * n.columns + m, at = (m / kTile * n.blocks() + b) * kTile + m % kTile;
                if (packed)
                  to[static_cast<size_t>(at)] = std::byte{packed_bits(source, from)};
                else
                  std::memcpy(to.data() + static_cast<size_t>(at) * size,
                              static_cast<const std::byte*>(source.data()) + static_cast<size_t>(from) * size, size);
              }
            return Status();
          }};
}

constexpr int64_t kVector = 8, kMostPacks = 8;  // of a row at once, and of a thread
constexpr int64_t kMostShared = 45056;          // bytes; what a block has without asking for more is 48 KB

// Rows as long as a sum, in the product's type.
Status check_norm(const Problem& norm, const BindArgs& args, const WeightTiles& n) {
  const auto& params = norm.as<NormParams>();
  const auto main = static_cast<size_t>(std::max(norm.num_main, 0));
  if ((params.kind != NormKind::kLayer && params.kind != NormKind::kRms) || !norm.epilogue.empty() ||
      main != norm.inputs.size() || main < 1 || main > 3 || params.has_scale != (main > 1) ||
      params.has_bias != (main > 2) || params.axis + 1 != args.inputs[0].rank() ||
      norm.inputs[0].dtype != norm.outputs[0].dtype)
    return unsupported("another normalization than of whole rows");
  for (size_t i = 0; i < main; ++i) {
    WOOTZ_RETURN_IF_ERROR(check_type(norm.inputs[i].dtype));
    if (norm.inputs[i].layout != Layout::kLinear) return unsupported("layout {}", layout_name(norm.inputs[i].layout));
    if (i > 0 && args.inputs[i].volume() != n.depth)
      return invalid_argument("norm: a parameter of shape {} for rows of {}", args.inputs[i].to_string(), n.depth);
  }
  return Status();
}

// What gemm/weight_norm.cuh has beside the product.
Status add_norm(const Problem& norm, const BindArgs& args, const WeightTiles& n, KernelSource* source) {
  WOOTZ_RETURN_IF_ERROR(check_norm(norm, args, n));
  const int64_t threads = n.warps() * 32 / n.at_once(), packs = n.depth / kVector;  // of a row
  const int64_t kept = (packs + threads - 1) / threads;
  const int64_t shared = n.at_once() * (packs + 1) * 16 + n.warps() * (n.at_once() * kTile + 32) * 4;
  if (kept > kMostPacks || shared > kMostShared) return unsupported("{} rows of {}, normalized", n.at_once(), n.depth);
  source->type("A", "float");
  source->fixed("kRowThreads", threads);
  source->fixed("kPacks", kept);
  source->fixed("kVector", kVector);
  source->fixed("kDepth", n.depth);
  source->fixed("kCentered", norm.as<NormParams>().kind == NormKind::kLayer);
  source->fixed("kToLength", 0);
  source->fixed_real("kEpsilon", norm.as<NormParams>().epsilon);
  source->number("length", n.depth);
  source->number("packs", packs);
  source->code("struct Values {\n  A v[kVector];\n};\n");
  add_row_parameters(norm, norm.num_main > 1 ? 1 : -1, norm.num_main > 2 ? 2 : -1, source);
  return Status();
}

}  // namespace

Status generate_weight_tiles(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const NarrowStep step, narrow_step(problem, args.outputs));
  const Problem& p = step.product;
  WOOTZ_RETURN_IF_ERROR(check_narrow(p));
  WOOTZ_ASSIGN_OR_RETURN(const WeightTiles n, tiles_of(p, product_inputs(step, args.inputs), step.y));
  if (n.rows == 0) return Status();
  const size_t sizes[] = {0, n.weight_bytes(), n.grid() * dtype_bytes(p.inputs[2].dtype, 1), n.grid()};
  WOOTZ_RETURN_IF_ERROR(check_packed(step, args, sizes));
  const bool zeros = p.num_main > 3;
  KernelSource source(step.norm ? "gemm/weight_norm.cuh" : "gemm/weight_tiles.cuh", transient(problem, args));
  if (step.norm)
    WOOTZ_RETURN_IF_ERROR(add_norm(*step.norm, args, n, &source));
  else
    source.fixed("kThreads", n.warps() * 32);
  source.fixed("kRows", n.at_once());
  source.fixed("kEach", n.each());
  source.fixed("kAhead", std::min(n.each(), kMostAhead));
  source.fixed("kHasZero", zeros);
  source.fixed("kZero", dtype_info(p.inputs[1].dtype).is_signed ? 8 : 0);
  add_narrow_operands(step, &source);
  source.number("columns", n.columns);
  source.number("depth", n.depth);
  source.number("rows", n.rows);
  source.number("chunks", n.chunks());
  source.number("blocks", n.blocks());
  source.number("block", n.block == n.depth ? n.chunks() : n.block / kChunk);
  source.number("tiles", n.tiles());
  source.code(
      fmt::format("W_FN u8 zero_point(const Operands& p, s64 at) {{ return {}; }}\n", zeros ? "p.zero[at]" : "0"));
  WOOTZ_RETURN_IF_ERROR(add_narrow_epilogue(step, args, &source));
  return source.finish(static_cast<int>(n.warps() * 32), n.tiles() * ((n.rows + n.at_once() - 1) / n.at_once()),
                       launches);
}

double estimate_weight_tiles(const Problem& p) {
  const Result<NarrowStep> step = narrow_step(p);
  if (!step.ok()) return 0;
  const Result<WeightTiles> n = at_optimum(*step);
  if (!n.ok() || n->rows > (step->norm ? kMostNormed : kMostRows)) return 0;
  const double passes = static_cast<double>((n->rows + 7) / 8);
  return (step->norm ? 2 : 1.5) + passes * static_cast<double>(n->weight_bytes()) / 3e6;
}

Result<std::optional<PackedForm>> pack_weight_tiles(const Problem& p, int input, const HostTensor& source) {
  WOOTZ_ASSIGN_OR_RETURN(const NarrowStep step, narrow_step(p));
  const int own = input - static_cast<int>(step.shift);
  if (own < 1 || own >= step.product.num_main) return std::optional<PackedForm>{};
  WOOTZ_ASSIGN_OR_RETURN(const WeightTiles n, at_optimum(step));
  return std::optional(own == 1 ? packed_weights(step.product, n, source) : packed_grid(n, source));
}

}  // namespace wootz::cuda
