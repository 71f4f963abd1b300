#include "backends/cuda/generate/fed.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "backend/operand_dims.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/tile_cost.h"
#include "backends/cuda/support/int8_weights.h"

namespace wootz::cuda {
namespace {

constexpr int64_t kMultiprocessors = 132, kPlaces = 64;

int64_t pieces(int64_t count, int64_t size) { return (count + size - 1) / size; }

int64_t tiles_of(const FedProduct& p, const FedTile& tile) {
  return pieces(p.b.rows, tile.rows) * pieces(p.b.columns, tile.columns);
}

// w_wide_mma(): products of 64 rows and all columns of a tile, both in shared memory.
std::string wide_product(const FedTile& tile, DType type) {
  std::string sums, named;
  const int count = tile.columns / 2;
  for (int i = 0; i < count; ++i) {
    named += fmt::format("{}%{}", i == 0 ? "" : ",", i);
    sums += fmt::format("{}\"+f\"(d[{}][{}])", i == 0 ? "" : ", ", i / 4, i % 4);
  }
  const char* const x = type == DType::kBF16 ? "bf16" : "f16";
  return fmt::format(
      "#ifndef WOOTZ_ON_HOST\n"
      "W_FN void w_wide_mma(float (&d)[{0}][4], u64 a, u64 b, int on) {{\n"
      "  asm volatile(\"{{\\n.reg .pred p;\\nsetp.ne.b32 p, %{3}, 0;\\n\"\n"
      "      \"wgmma.mma_async.sync.aligned.m64n{4}k16.f32.{5}.{5} {{{6}}}, %{1}, %{2}, p, 1, 1, 0, 0;\\n}}\"\n"
      "      : {7} : \"l\"(a), \"l\"(b), \"r\"(on));\n}}\n#endif\n",
      tile.columns / 8, count, count + 1, count + 2, tile.columns, x, named, sums);
}

void write_numbers(const FedProduct& p, const FedTile& tile, KernelSource* source) {
  const TileProduct& b = p.b;
  const std::pair<const char*, int64_t> fixed[] = {
      {"kRows", tile.rows}, {"kColumns", tile.columns}, {"kStages", tile.stages}, {"kInTurn", tile.in_turn}};
  for (const auto& [name, value] : fixed) source->fixed(name, value);
  add_float_sums(b.scale, source);
  const bool w = b.window;
  const int64_t tiles = tiles_of(p, tile);
  const std::pair<const char*, int64_t> numbers[] = {{"rows", b.rows},
                                                     {"columns", b.columns},
                                                     {"out_w", w ? b.out_w : b.rows},
                                                     {"out_h", w ? b.out_h : 1},
                                                     {"stride_w", w ? b.stride_w : 1},
                                                     {"stride_h", w ? b.stride_h : 1},
                                                     {"pad_left", w ? b.left : 0},
                                                     {"pad_top", w ? b.top : 0},
                                                     {"dilation_w", w ? b.dilation_w : 1},
                                                     {"dilation_h", w ? b.dilation_h : 1},
                                                     {"taps_w", b.taps_w},
                                                     {"lines", p.lines},
                                                     {"stages", p.stages},
                                                     {"tiles_m", pieces(b.rows, tile.rows)},
                                                     {"tiles", tiles},
                                                     {"blocks", std::min(kMultiprocessors, tiles)}};
  for (const auto& [name, value] : numbers) source->number(name, value, "int");
}

// Rounds of the multiprocessors and bytes of memory, of which the shorter hides behind the longer in part. Without
// turns a tile is stored while nothing is multiplied.
double us_of(const FedProduct& p, const FedTile& tile, double bytes) {
  constexpr double kStartUs = 3, kBytesPerUs = 3.6e6, kShown = 0.3, kStoreUs = 0.3;
  const auto rounds = static_cast<double>(pieces(tiles_of(p, tile), kMultiprocessors));
  const double macs = static_cast<double>(tile.rows * tile.columns * p.stages * kPlaces);
  const double compute = rounds * (macs / tile.macs_per_us + (tile.in_turn ? 0 : kStoreUs)),
               memory = bytes / kBytesPerUs;
  return kStartUs + std::max(compute, memory) + kShown * std::min(compute, memory);
}

}  // namespace

Result<FedProduct> describe_fed(const Problem& problem, const BindArgs& args) {
  FedProduct p;
  WOOTZ_ASSIGN_OR_RETURN(p.reads, tile_reads(problem, args.inputs, args.outputs));
  WOOTZ_ASSIGN_OR_RETURN(p.b, describe_half(p.reads, args));
  const TileProduct& b = p.b;
  if (!problem.is(Family::kConv) && !problem.is(Family::kGemm)) return unsupported("another problem than a product");
  if (b.batch != 1 || b.planes || !b.packed) return unsupported("several matrices, or results by planes");
  if (b.columns % 8 != 0) return unsupported("{} columns, which are not stored by eight", b.columns);
  p.lines = pieces(b.channels, kPlaces);
  p.stages = b.taps_h * b.taps_w * p.lines;
  if (b.rows * b.columns == 0) return p;
  const DType type = problem.inputs[0].dtype;
  for (const FedTile& tile : kFedTiles) {
    WOOTZ_RETURN_IF_ERROR(check_view(view_of_rows(p, type, tile)));
    WOOTZ_RETURN_IF_ERROR(check_view(view_of_columns(p, type, tile)));
  }
  if ((b.taps_w - 1) * b.dilation_w > 255 || (b.taps_h - 1) * b.dilation_h > 255)
    return unsupported("windows of {} by {} taps at distances of {} and {}", b.taps_h, b.taps_w, b.dilation_h,
                       b.dilation_w);
  const auto w = static_cast<size_t>(p.reads.w);
  if (args.constant_bytes.size() > w && args.constants[w] != nullptr &&
      args.constant_bytes[w] < static_cast<size_t>(p.weight_bytes()))
    return invalid_argument("{} bytes of packed weights for {}", args.constant_bytes[w], args.inputs[w].to_string());
  return p;
}

TensorView view_of_rows(const FedProduct& p, DType type, const FedTile& tile) {
  const TileProduct& b = p.b;
  TensorView view;
  view.type = type;
  view.lines = tile.rows;
  if (b.window) {
    view.extents = {b.channels, b.in_w, b.in_h, b.rows / (b.out_h * b.out_w)};
    view.lower = {-b.left, -b.top};
    view.steps = {b.stride_w, b.stride_h};
    view.places = {b.out_w, b.out_h};
  } else {
    view.extents = {b.channels, b.rows, 1, 1};
    view.places = {b.rows, 1};
  }
  return view;
}

TensorView view_of_columns(const FedProduct& p, DType type, const FedTile& tile) {
  TensorView view;
  view.type = type;
  view.matrix = true;
  view.lines = tile.columns;
  view.extents = {p.stages * kPlaces, p.padded_columns(), 1, 1};
  return view;
}

// Columns lie so, 32 at a time, that a thread's sums are of eight neighbours; each tap's channels fill whole stages.
Result<std::optional<PackedForm>> pack_fed(const Problem& problem, int input, const HostTensor& source) {
  WOOTZ_ASSIGN_OR_RETURN(FedProduct p,
                         describe_fed(problem, {operand_dims(problem.inputs), operand_dims(problem.outputs), {}}));
  if (input != p.reads.w) return std::optional<PackedForm>{};
  const auto bytes = static_cast<size_t>(p.weight_bytes());
  return std::optional(packed_by(bytes, [p = std::move(p), source, bytes]() -> Result<std::vector<std::byte>> {
    const WeightColumns from = weight_columns(p.reads.problem, source, 2);
    const int64_t taps = p.b.taps_h * p.b.taps_w, channels = p.b.channels;
    std::vector<std::byte> to(bytes);
    for (int64_t line = 0; line < p.padded_columns(); ++line) {
      const int64_t n = line / 32 * 32 + line / 2 % 4 * 8 + line / 8 % 4 * 2 + line % 2;
      if (n >= p.b.columns) continue;
      for (int64_t tap = 0; tap < taps; ++tap)
        std::memcpy(&to[static_cast<size_t>((line * p.stages + tap * p.lines) * kPlaces * 2)],
                    &from.bytes[static_cast<size_t>((n * taps + tap) * channels * 2)],
                    static_cast<size_t>(channels * 2));
    }
    return to;
  }));
}

Status generate_fed(const Problem& problem, const BindArgs& args, size_t index, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const FedProduct p, describe_fed(problem, args));
  if (p.b.rows * p.b.columns == 0) return Status();
  const FedTile& tile = kFedTiles[index];
  const DType type = problem.inputs[0].dtype;
  KernelSource source("gemm/fed.cuh", true);
  source.type("X", storage_type(type));
  source.type("Y", storage_type(problem.outputs[0].dtype));
  source.type("Part", "float");
  write_numbers(p, tile, &source);
  source.operand("Y* __restrict__", "y", {true, 0});
  source.view("x", {false, p.reads.x}, view_of_rows(p, type, tile));
  source.view("w", {false, p.reads.w}, view_of_columns(p, type, tile));
  WOOTZ_RETURN_IF_ERROR(write_by_eight(p.reads.problem, {p.reads.dims, p.reads.made, {}}, p.b.columns,
                                       {.w = p.reads.w, .halves_ahead = true}, &source));
  source.code(wide_product(tile, type));
  LaunchSize size;
  size.grid_x = static_cast<unsigned>(std::min(kMultiprocessors, tiles_of(p, tile)));
  size.block = 384;
  size.shared = static_cast<unsigned>(tile.bytes());
  size.at_once = 1;
  return source.finish(size, launches);
}

// 0: there are too few tiles for half of the multiprocessors, two others are better, or a library is sure to be.
double estimate_fed(const Problem& problem, size_t index) {
  constexpr int64_t kLeast = 64;
  constexpr size_t kMost = 2;
  constexpr double kHopeless = 1.3;
  const std::vector<Dims> in = operand_dims(problem.inputs), out = operand_dims(problem.outputs);
  const Result<FedProduct> p = describe_fed(problem, {in, out, {}});
  if (!p.ok() || tiles_of(*p, kFedTiles[index]) < kLeast) return 0;
  const double bytes = bytes_of(problem), us = us_of(*p, kFedTiles[index], bytes);
  size_t better = 0;
  for (size_t i = 0; i < std::size(kFedTiles); ++i)
    better += i != index && tiles_of(*p, kFedTiles[i]) >= kLeast && us_of(*p, kFedTiles[i], bytes) < us;
  const double macs = static_cast<double>(p->b.rows * p->b.columns) * static_cast<double>(p->b.depth());
  return better < kMost && us < kHopeless * library_us(macs, bytes) ? us : 0;
}

}  // namespace wootz::cuda
