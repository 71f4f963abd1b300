// Family gemm with w_block: a few rows of 16-bit floats times constant weights of 4 bits on tensor cores. They are
// packed as the threads of a warp hold them in products: 16 columns by 64 of the sum are 16 bytes of each.
#include <algorithm>
#include <cstring>

#include "backend/operand_dims.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/weight_only.h"

namespace wootz::cuda {
namespace {

constexpr int64_t kTile = 16, kChunk = 64, kTileBytes = kTile * kChunk / 2;
constexpr int64_t kMostRows = 32, kMostWarps = 16, kMostEach = 32, kMostAhead = 8;

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

}  // namespace

Status generate_weight_tiles(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const NarrowStep step, narrow_step(problem, args.outputs));
  const Problem& p = step.product;
  WOOTZ_RETURN_IF_ERROR(check_narrow(p));
  WOOTZ_ASSIGN_OR_RETURN(const WeightTiles n, tiles_of(p, args.inputs, step.y));
  if (n.rows == 0) return Status();
  const size_t sizes[] = {0, n.weight_bytes(), n.grid() * dtype_bytes(p.inputs[2].dtype, 1), n.grid()};
  WOOTZ_RETURN_IF_ERROR(check_packed(p, args, sizes));
  const bool zeros = p.num_main > 3;
  KernelSource source("gemm/weight_tiles.cuh", transient(problem, args));
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
  if (!n.ok() || n->rows > kMostRows) return 0;
  const double passes = static_cast<double>((n->rows + 7) / 8);
  return 1.5 + passes * static_cast<double>(n->weight_bytes()) / 3e6;
}

Result<std::optional<PackedForm>> pack_weight_tiles(const Problem& p, int input, const HostTensor& source) {
  if (input < 1 || input >= p.num_main) return std::optional<PackedForm>{};
  WOOTZ_ASSIGN_OR_RETURN(const NarrowStep step, narrow_step(p));
  WOOTZ_ASSIGN_OR_RETURN(const WeightTiles n, at_optimum(step));
  return std::optional(input == 1 ? packed_weights(step.product, n, source) : packed_grid(n, source));
}

}  // namespace wootz::cuda
