// Family gemm with w_block: a few rows of 16-bit floats times constant weights of 4 bits on tensor cores. They are
// packed as the threads of a warp hold them in products: 16 columns by 64 of the sum are 16 bytes of each. The rows may
// be normalized on the way, by every block for itself. One or two rows may be planes of digits, by which products are
// of 8-bit integers: an instruction unpacks eight weights.
#include <algorithm>
#include <cstring>

#include "backend/operand_dims.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/row_packs.h"
#include "backends/cuda/generate/weight_only.h"

namespace wootz::cuda {
namespace {

constexpr int64_t kTile = 16, kChunk = 64, kTileBytes = kTile * kChunk / 2;
constexpr int64_t kMostRows = 32, kMostNormed = 8, kMostInPlanes = 2, kMostWarps = 16, kMostEach = 64;
constexpr int64_t kMultiprocessors = 132, kAtOnce = 1024;          // and threads of one, so that two kernels have room
constexpr int64_t kMostOwn = 4;                                    // tiles of a block
constexpr int64_t kUsualWarps = 8, kUsualUnits = 8;                // chunks times tiles of a warp, if it can be
constexpr int64_t kWeightsAhead = 64 << 10, kRowsKept = 36 << 10;  // bytes of shared memory, at most
constexpr int64_t kMostShared = 99 << 10;                          // what a block of any GPU can have

struct WeightTiles : NarrowProduct {
  int64_t chunks() const { return depth / kChunk; }
  int64_t tiles() const { return (columns + kTile - 1) / kTile; }
  size_t weight_bytes() const { return static_cast<size_t>(tiles() * chunks() * kTileBytes); }
  size_t grid() const { return static_cast<size_t>(tiles() * blocks() * kTile); }  // scales, and zero points
  int64_t block_chunks() const { return block == depth ? chunks() : block / kChunk; }
  int64_t at_once() const { return rows > 4 ? 8 : rows > 2 ? 4 : rows > 1 ? 2 : 1; }  // rows of a block
};

int64_t parts(int64_t count, int64_t each) { return (count + each - 1) / each; }

// How blocks and warps divide the work.
struct Division {
  int64_t own = 1, warps = 1, each = 1, step = 1, ahead = 1, grids = 1;  // as in gemm/weight_chunks.cuh
  bool even = false, rows_kept = false;
  int64_t run = 0, same = 0;              // as in gemm/row_planes.cuh; 0: rows are no planes
  int64_t grid_bytes = 0, row_bytes = 0;  // of a warp
  int64_t threads() const { return warps * 32; }
  int64_t shared() const { return warps * (ahead * own * kTileBytes + grid_bytes + row_bytes); }
};

// Tiles of a block: where all multiprocessors have about as many, and of those the most, whose rows are read once.
int64_t own_tiles(int64_t tiles) {
  int64_t best = 1, least = tiles;
  for (int64_t own = 1; own <= kMostOwn; ++own)
    if (const int64_t most = parts(parts(tiles, own), kMultiprocessors) * own; most <= least) {
      least = most;
      best = own;
    }
  return best;
}

// Blocks to launch: as many for each multiprocessor, where few have to be added for that.
int64_t even_blocks(int64_t blocks) {
  constexpr int64_t kMostAdded = 8;
  const int64_t even = parts(blocks, kMultiprocessors) * kMultiprocessors;
  return even - blocks <= kMostAdded ? even : blocks;
}

// Blocks that a run of chunks may be of which begins at a multiple of its length.
int64_t grids_of(int64_t run, int64_t block) {
  return block % run == 0 ? 1 : run % block == 0 ? run / block : (run - 2) / block + 2;
}

// Planes and steps of a chunk of a row.
constexpr int64_t kPlaneBytes = 3 * kChunk, kStepBytes = 4;
constexpr int64_t kOfNorm = 128;  // bytes that a warp's normalization declares

Division divide(const WeightTiles& n, const Problem& p, bool normed, bool planes) {
  Division d;
  d.own = own_tiles(n.tiles());
  const int64_t units = d.own * n.chunks();
  while (d.warps < kMostWarps && d.warps < n.chunks() && (d.warps < kUsualWarps || units > d.warps * kUsualUnits))
    d.warps *= 2;
  d.each = parts(n.chunks(), d.warps);
  d.even = d.each * d.warps == n.chunks();
  const bool pairs = d.each % 2 == 0 && n.chunks() % 2 == 0 && n.block_chunks() % 2 == 0;
  if (planes) d.run = d.step = d.same = pairs ? 2 : 1;
  const bool fours = normed ? d.warps >= n.at_once() && n.chunks() % 4 == 0 : d.each % 4 == 0;
  if (planes && fours) d.same = 4;
  while (d.step * d.own < 4 && d.each % (d.step * 2) == 0) d.step *= 2;
  d.grids = std::min(n.blocks(), grids_of(d.each, n.block_chunks()));
  const int64_t scale = static_cast<int64_t>(dtype_bytes(p.inputs[2].dtype, 1));
  d.grid_bytes = d.own * d.grids * kTile * (scale + (p.num_main > 3 ? 1 : 0));
  const int64_t pitch = d.each * kChunk * 2 + 16;
  d.rows_kept = !planes && !normed && d.warps * n.at_once() * pitch <= kRowsKept;
  if (d.rows_kept) d.row_bytes = n.at_once() * pitch;
  if (planes) d.row_bytes = n.at_once() * d.each * (kPlaneBytes + kStepBytes);
  const int64_t left = kMostShared / d.warps - kOfNorm - d.grid_bytes - d.row_bytes;
  const int64_t most = std::min(kWeightsAhead / d.warps, std::max<int64_t>(left, 0)) / (d.own * kTileBytes);
  d.ahead = d.each <= most ? d.each : std::max(most / d.step, int64_t{1}) * d.step;
  return d;
}

// Rows are planes of digits where they are few and there is room for them.
Division division_of(bool planes, const WeightTiles& n, const Problem& p, bool normed) {
  if (planes && n.rows <= kMostInPlanes)
    if (const Division d = divide(n, p, normed, true); d.shared() + d.warps * kOfNorm <= kMostShared) return d;
  return divide(n, p, normed, false);
}

Result<WeightTiles> tiles_of(const Problem& p, std::span<const Dims> in, const Dims& y) {
  WeightTiles n;
  if (!is_integer(p.inputs[1].dtype) || !is_model_float(p.inputs[2].dtype) || p.as<GemmParams>().alpha != 1)
    return unsupported("weights of {} by scales of {}", dtype_name(p.inputs[1].dtype), dtype_name(p.inputs[2].dtype));
  WOOTZ_ASSIGN_OR_RETURN(static_cast<NarrowProduct&>(n), narrow_product(p, in, y));
  if (n.bits != 4 || p.inputs[0].dtype == DType::kF32)
    return unsupported("{} by weights of {} bits on tensor cores", dtype_name(p.inputs[0].dtype), n.bits);
  if (n.depth % kChunk != 0 || (n.block < n.depth && n.block % kChunk != 0))
    return unsupported("sums of {} in blocks of {}: no multiples of {}", n.depth, n.block, kChunk);
  if (n.chunks() > kMostEach * kMostWarps) return unsupported("a sum of {}", n.depth);
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
constexpr int64_t kMostDeclared = 48 << 10;     // bytes of shared memory that a source can declare
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
Status add_norm(const Problem& norm, const BindArgs& args, const WeightTiles& n, const Division& d,
                KernelSource* source) {
  WOOTZ_RETURN_IF_ERROR(check_norm(norm, args, n));
  const int64_t threads = d.threads() / n.at_once(), packs = n.depth / kVector;  // of a row
  const int64_t rows = d.run > 0 ? 0 : n.at_once() * (packs + 1) * 16;
  const int64_t kept = parts(packs, threads), shared = rows + d.warps * kOfNorm;
  if (kept > kMostPacks || shared > kMostDeclared || shared + d.shared() > kMostShared)
    return unsupported("{} rows of {}, normalized", n.at_once(), n.depth);
  bool early = true;
  for (size_t i = 1; i < norm.inputs.size(); ++i) early = early && norm.inputs[i].constant;
  source->fixed("kEarly", early);
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

// The kernel's file, by whether rows are planes and whether they are normalized.
constexpr const char* kFiles[2][2] = {{"gemm/weight_tiles.cuh", "gemm/weight_norm.cuh"},
                                      {"gemm/weight_planes.cuh", "gemm/weight_norm_planes.cuh"}};

Status generate(bool planes, const Problem& problem, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const NarrowStep step, narrow_step(problem, args.outputs));
  const Problem& p = step.product;
  WOOTZ_RETURN_IF_ERROR(check_narrow(p));
  WOOTZ_ASSIGN_OR_RETURN(const WeightTiles n, tiles_of(p, product_inputs(step, args.inputs), step.y));
  if (n.rows == 0) return Status();
  const size_t sizes[] = {0, n.weight_bytes(), n.grid() * dtype_bytes(p.inputs[2].dtype, 1), n.grid()};
  WOOTZ_RETURN_IF_ERROR(check_packed(step, args, sizes));
  const bool zeros = p.num_main > 3;
  const bool normed = step.norm.has_value();
  const Division d = division_of(planes, n, p, normed);
  if (d.shared() > kMostShared) return unsupported("{} columns of {}", d.own * kTile, n.depth);
  KernelSource source(kFiles[d.run > 0 ? 1 : 0][normed ? 1 : 0], transient(problem, args));
  if (normed) {
    WOOTZ_RETURN_IF_ERROR(add_norm(*step.norm, args, n, d, &source));
  } else {
    source.fixed("kThreads", d.threads());
    if (d.run == 0) source.fixed("kRowsShared", d.rows_kept);
  }
  if (d.run > 0) {
    source.fixed("kRun", d.run);
    source.fixed("kSame", d.same);
  }
  source.fixed("kRows", n.at_once());
  source.fixed("kOwn", d.own);
  source.fixed("kEach", d.each);
  source.fixed("kStep", d.step);
  source.fixed("kAhead", d.ahead);
  source.fixed("kGrids", d.grids);
  source.fixed("kEven", d.even);
  source.fixed("kCluster", 1);
  source.fixed("kSharedBytes", d.shared());
  source.fixed("kHasZero", zeros);
  source.fixed("kZero", dtype_info(p.inputs[1].dtype).is_signed ? 8 : 0);
  add_narrow_operands(step, &source);
  source.number("columns", n.columns);
  source.number("depth", n.depth);
  source.number("rows", n.rows);
  source.number("chunks", n.chunks());
  source.number("blocks", n.blocks());
  source.number("block", n.block_chunks());
  source.number("tiles", n.tiles());
  const int64_t slices = parts(n.tiles(), d.own), blocks = slices * parts(n.rows, n.at_once());
  source.number("slices", slices);
  source.number("parts", blocks);
  source.code(fmt::format("W_FN const u8* zeros(const Operands& p) {{ return {}; }}\n", zeros ? "p.zero" : "nullptr"));
  WOOTZ_RETURN_IF_ERROR(add_narrow_epilogue(step, args, &source));
  LaunchSize size;
  size.block = static_cast<unsigned>(d.threads());
  size.grid_x = static_cast<unsigned>(even_blocks(blocks));
  size.shared = static_cast<unsigned>(d.shared());
  size.at_once = static_cast<unsigned>(kAtOnce / d.threads());
  size.beside = true;
  return source.finish(size, launches);
}

double estimate(bool planes, const Problem& p) {
  const Result<NarrowStep> step = narrow_step(p);
  if (!step.ok()) return 0;
  const Result<WeightTiles> n = at_optimum(*step);
  const bool normed = step->norm.has_value();
  if (!n.ok() || n->rows > (normed ? kMostNormed : kMostRows)) return 0;
  if (planes && division_of(true, *n, step->product, normed).run == 0) return 0;
  const double passes = static_cast<double>((n->rows + 7) / 8);
  return (normed ? 2 : 1.5) + passes * static_cast<double>(n->weight_bytes()) / 3e6 - (planes ? 0.3 : 0);
}

}  // namespace

Status generate_weight_tiles(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches) {
  return generate(false, problem, args, launches);
}

// More rows than at the optimum are multiplied as the tiles do.
Status generate_weight_planes(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches) {
  return generate(true, problem, args, launches);
}

double estimate_weight_tiles(const Problem& p) { return estimate(false, p); }

double estimate_weight_planes(const Problem& p) { return estimate(true, p); }

Result<std::optional<PackedForm>> pack_weight_tiles(const Problem& p, int input, const HostTensor& source) {
  WOOTZ_ASSIGN_OR_RETURN(const NarrowStep step, narrow_step(p));
  const int own = input - static_cast<int>(step.shift);
  if (own < 1 || own >= step.product.num_main) return std::optional<PackedForm>{};
  WOOTZ_ASSIGN_OR_RETURN(const WeightTiles n, at_optimum(step));
  return std::optional(own == 1 ? packed_weights(step.product, n, source) : packed_grid(n, source));
}

}  // namespace wootz::cuda
