#include "backends/cuda/generate/fed.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "backend/chain_sum.h"
#include "backend/operand_dims.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/normalized_form.h"
#include "backends/cuda/generate/tile_cost.h"
#include "backends/cuda/generate/walkers.h"
#include "backends/cuda/generate/wide_products.h"
#include "backends/cuda/support/int8_weights.h"

namespace wootz::cuda {
namespace {

constexpr int64_t kMultiprocessors = 132;

int64_t pieces(int64_t count, int64_t size) { return (count + size - 1) / size; }

int64_t tiles_of(const FedProduct& p, const FedTile& tile) {
  return pieces(p.b().rows, tile.rows) * pieces(p.b().columns, tile.columns);
}

// That walk over the tiles; where a cluster divides a sum, or rows are normalized, each has one.
int64_t blocks_of(const FedProduct& p, const FedTile& tile) {
  return tile.cluster > 1 || p.b().norm ? tiles_of(p, tile) : std::min(walked_multiprocessors(), tiles_of(p, tile));
}

// All blocks of a cluster have a part of the sum.
bool divides(const FedProduct& p, const FedTile& tile) {
  return tile.cluster == 1 || (tile.cluster - 1) * pieces(p.stages(), tile.cluster) < p.stages();
}

// One of a block's teams finds mean and deviation of whole rows, and has room to note them, and what columns need.
int note_bytes(const FedProduct& p, const FedTile& tile) { return p.b().norm ? (tile.rows + tile.columns) * 8 : 0; }
bool can_normalize(const FedProduct& p, const FedTile& tile) {
  constexpr int kMost = 227 << 10;
  return !p.b().norm ||
         (tile.cluster == 1 && !tile.promoted && tile.in_turn && tile.bytes() + note_bytes(p, tile) <= kMost);
}

void write_numbers(const FedProduct& p, const FedTile& tile, KernelSource* source) {
  const TileProduct& other = p.images.back().b;
  const std::pair<const char*, int64_t> fixed[] = {{"kRows", tile.rows},         {"kColumns", tile.columns},
                                                   {"kStages", tile.stages},     {"kInTurn", tile.in_turn},
                                                   {"kPromoted", tile.promoted}, {"kTwo", p.images.size() > 1}};
  for (const auto& [name, value] : fixed) source->fixed(name, value);
  add_float_sums(p.b(), source, tile.cluster);
  add_windows(p.images[0], tile.rows, source);
  const std::pair<const char*, int64_t> numbers[] = {{"first", p.images[0].stages()},
                                                     {"other_w", other.stride_w},
                                                     {"other_h", other.stride_h},
                                                     {"stages", p.stages()},
                                                     {"each", pieces(p.stages(), tile.cluster)},
                                                     {"tiles", tiles_of(p, tile)},
                                                     {"blocks", blocks_of(p, tile)}};
  for (const auto& [name, value] : numbers) source->number(name, value, "int");
}

// Maps of what is copied, and those of the second image, null where there is none.
void write_views(const FedProduct& p, DType type, const FedTile& tile, KernelSource* source) {
  const FedImage &one = p.images[0], &other = p.images.back();
  const bool two = p.images.size() > 1;
  source->view("x", {false, one.x}, view_of_rows(one, type, tile.rows));
  source->view("w", {false, one.w}, view_of_columns(one, type, tile.columns));
  if (two) {
    source->view("other_x", {false, other.x}, view_of_rows(other, type, tile.rows));
    source->view("other_w", {false, other.w}, view_of_columns(other, type, tile.columns));
  }
  source->code(
      fmt::format("W_FN const TensorMap* other_x_of(const Operands& p) {{ return {}; }}\n"
                  "W_FN const TensorMap* other_w_of(const Operands& p) {{ return {}; }}\n",
                  two ? "p.other_x" : "nullptr", two ? "p.other_w" : "nullptr"));
}

// Scales of columns stand behind these, or what normalized rows ask for.
void write_scales(const FedImage& image, KernelSource* source) {
  const bool tables = image.b.scaled || image.b.norm;
  source->number("tables", image.weight_bytes());
  if (tables) source->operand("const u8*", "packed", {false, image.w});
  source->code(fmt::format("W_FN const float* scales_of(const Operands& p, const Constants& c) {{ return {}; }}\n",
                           tables ? "(const float*)(p.packed + c.tables)" : "nullptr"));
}

// A normalization in front; where its rows are a result, they are read as they are as well.
Status write_norm(const Problem& problem, const FedImage& image, KernelSource* source) {
  constexpr int64_t kVector = 8;
  WOOTZ_RETURN_IF_ERROR(add_norm(image.b, &problem, kVector, source));
  if (!image.b.norm) return Status();
  source->number("depth", image.b.depth(), "int");
  if (!image.b.norm->kept) return Status();
  source->operand("const X*", "plain_x", {false, image.x});
  source->code("W_FN const X* plain_x_of(const Operands& p) { return p.plain_x; }\n");
  return Status();
}

// Those of blocks of each row and of columns.
void write_block_scales(const FedProduct& p, KernelSource* source) {
  source->fixed("kBlocks", p.blocks.has_value());
  source->fixed("kOneScale", p.blocks && p.blocks->side > 1);
  std::string row = "1.0f", one = "1.0f", each = "Pack<float, 8>{}";
  if (p.blocks) {
    source->operand("const float*", "x_scales", {false, p.blocks->x});
    source->operand("const float*", "w_scales", {false, p.blocks->w});
    const std::pair<const char*, int64_t> numbers[] = {{"x_blocks", p.blocks->x_blocks},
                                                       {"x_stages", p.blocks->x_block / kFedLine},
                                                       {"w_stages", p.blocks->w_block / kFedLine},
                                                       {"scale_columns", p.blocks->columns},
                                                       {"side", p.blocks->side}};
    for (const auto& [name, value] : numbers) source->number(name, value, "int");
    row = "p.x_scales[(s64)row * c.x_blocks + stage / c.x_stages]";
    one = "p.w_scales[stage / c.w_stages * c.scale_columns + n / c.side]";
    if (p.blocks->side == 1) each = "*(const Pack<float, 8>*)(p.w_scales + (stage / c.w_stages * c.scale_columns + n))";
  }
  source->code(
      fmt::format("W_FN float row_scale(const Operands& p, const Constants& c, int row, int stage) {{ return {}; }}\n"
                  "W_FN float column_scale(const Operands& p, const Constants& c, int n, int stage) {{ return {}; }}\n"
                  "W_FN Pack<float, 8> column_scales(const Operands& p, const Constants& c, int n, int stage) {{\n"
                  "  return {};\n}}\n",
                  row, one, each));
}

// Rounds of the multiprocessors and bytes of memory, of which the shorter hides behind the longer in part. Without
// turns a tile is stored while nothing is multiplied.
double us_of(const FedProduct& p, const FedTile& tile, double bytes) {
  constexpr double kStartUs = 3, kBytesPerUs = 3.6e6, kShown = 0.3, kStoreUs = 0.3;
  const auto rounds = static_cast<double>(pieces(tiles_of(p, tile), kMultiprocessors));
  const double macs = static_cast<double>(tile.rows * tile.columns * p.stages() * p.b().places());
  const double compute = rounds * (macs / tile.macs_per_us + (tile.in_turn ? 0 : kStoreUs)),
               memory = bytes / kBytesPerUs;
  return kStartUs + std::max(compute, memory) + kShown * std::min(compute, memory);
}

// 0: not by so many blocks, or by fewer than half of the multiprocessors; or another is better. As measured: the start
// and what the blocks tell each other, and what a block's rows and columns take to come to it.
double estimate_divided(const FedProduct& p, const FedTile& tile, double others_us) {
  constexpr double kStartUs = 2.4, kBytesPerUs = 8e4, kHopeless = 1.3;
  const int64_t blocks = tiles_of(p, tile) * tile.cluster, stages = pieces(p.stages(), tile.cluster);
  if (!divides(p, tile) || blocks < kMultiprocessors / 2 || blocks > kMultiprocessors) return 0;
  const int64_t bytes = stages * (tile.rows + tile.columns) * 128 + tile.rows * tile.columns * 4;
  const double us = kStartUs + static_cast<double>(bytes) / kBytesPerUs;
  return us < kHopeless * others_us ? us : 0;
}

// What the kernels read and write: of an image at steps, the pixels at these.
double bytes_read(const Problem& problem, const FedProduct& p) {
  double bytes = bytes_of(problem);
  for (const FedImage& image : p.images) {
    const TileProduct& b = image.b;
    if (p.images.size() > 1 && b.taps_h * b.taps_w == 1)
      bytes -= 2.0 * static_cast<double>(b.channels) *
               static_cast<double>(b.rows / std::max<int64_t>(1, b.out_h * b.out_w) * b.in_h * b.in_w - b.rows);
  }
  return bytes;
}

// What a library is said to take: of a sum, of both convolutions, which are measured beside; of normalized rows with
// the normalization.
double others_us(const FedProduct& p, double bytes) {
  constexpr double kStepUs = 3;
  double macs = 0;
  for (const FedImage& image : p.images)
    macs += static_cast<double>(image.b.rows * image.b.columns) * static_cast<double>(image.b.depth());
  return library_us(macs, bytes) + (p.images.size() > 1 ? kStepUs : 0) +
         (p.b().norm ? norm_us(static_cast<double>(p.b().rows * p.b().depth() * p.b().size)) : 0);
}

Status check_image(const FedImage& image, DType type, std::span<const FedTile> tiles) {
  const TileProduct& b = image.b;
  if (b.batch != 1 || b.planes || !b.packed) return unsupported("several matrices, or results by planes");
  if (b.columns % 8 != 0) return unsupported("{} columns, which are not stored by eight", b.columns);
  if ((b.taps_w - 1) * b.dilation_w > 255 || (b.taps_h - 1) * b.dilation_h > 255)
    return unsupported("windows of {} by {} taps at distances of {} and {}", b.taps_h, b.taps_w, b.dilation_h,
                       b.dilation_w);
  if (b.rows * b.columns == 0) return Status();
  for (const FedTile& tile : tiles) {
    WOOTZ_RETURN_IF_ERROR(check_view(view_of_rows(image, type, tile.rows)));
    WOOTZ_RETURN_IF_ERROR(check_view(view_of_columns(image, type, tile.columns)));
  }
  return Status();
}

Result<FedProduct> describe_one(const Problem& problem, const BindArgs& args) {
  FedProduct p;
  WOOTZ_ASSIGN_OR_RETURN(p.reads, tile_reads(problem, args.inputs, args.outputs));
  FedImage image{.x = p.reads.x, .w = p.reads.w};
  WOOTZ_ASSIGN_OR_RETURN(image.b, describe_half(p.reads, args));
  if (!problem.is(Family::kConv) && !problem.is(Family::kGemm) && !image.b.norm)
    return unsupported("another problem than a product, or one of normalized rows");
  p.images = {std::move(image)};
  return p;
}

// Lines as the unit for tensors copies them, of columns one after the other.
std::vector<std::byte> lines_of(const FedImage& image, const std::vector<std::byte>& columns) {
  const int64_t taps = image.b.taps_h * image.b.taps_w, channel_bytes = image.b.channels * image.b.size;
  std::vector<std::byte> to(static_cast<size_t>(image.weight_bytes()));
  for (int64_t line = 0; line < image.padded_columns(); ++line) {
    const int64_t n = line / 32 * 32 + line / 2 % 4 * 8 + line / 8 % 4 * 2 + line % 2;
    if (n >= image.b.columns) continue;
    for (int64_t tap = 0; tap < taps; ++tap)
      std::memcpy(&to[static_cast<size_t>((line * image.stages() + tap * image.lines) * kFedLine)],
                  &columns[static_cast<size_t>((n * taps + tap) * channel_bytes)], static_cast<size_t>(channel_bytes));
  }
  return to;
}

// With the normalization's scale, and the tables behind them.
PackedForm packed_normalized(const Problem& problem, const FedImage& image, const HostTensor& w,
                             const HostTensor& scale, const HostTensor& bias) {
  return packed_by(static_cast<size_t>(image.packed_bytes()), [=]() -> Result<std::vector<std::byte>> {
    const std::vector<std::byte> made = normalized_columns(problem, w, scale, bias, image.b.size);
    std::vector<std::byte> to = lines_of(image, made);
    to.insert(to.end(), made.end() - image.b.norm_table_bytes(), made.end());
    return to;
  });
}

PackedForm packed_columns(const Problem& problem, const FedImage& image, const HostTensor& source) {
  return packed_by(
      static_cast<size_t>(image.weight_bytes()),
      [problem, image, source]() -> Result<std::vector<std::byte>> { return fed_columns(problem, image, source); });
}

// Biases of both, in FP32.
PackedForm packed_biases(const HostTensor& a, const HostTensor& b, int64_t columns) {
  const auto bytes = static_cast<size_t>(columns) * sizeof(float);
  return packed_by(bytes, [a, b, columns, bytes]() -> Result<std::vector<std::byte>> {
    for (const HostTensor* t : {&a, &b})
      if (!t->valid() || t->volume() != columns) return invalid_argument("a bias that is not there as it was");
    std::vector<std::byte> to(bytes);
    for (int64_t i = 0; i < columns; ++i) {
      const auto sum = static_cast<float>(a.get_f64(i) + b.get_f64(i));
      std::memcpy(&to[static_cast<size_t>(i) * sizeof sum], &sum, sizeof sum);
    }
    return to;
  });
}

}  // namespace

std::vector<std::byte> fed_columns(const Problem& problem, const FedImage& image, const HostTensor& source) {
  return lines_of(image, weight_columns(problem, source, image.b.size).bytes);
}

Status settle_fed(const BindArgs& args, DType type, std::span<const FedTile> tiles, FedProduct* p) {
  for (FedImage& image : p->images) {
    image.lines = pieces(image.b.channels, image.b.places());
    WOOTZ_RETURN_IF_ERROR(check_image(image, type, tiles));
    const auto w = static_cast<size_t>(image.w);
    if (args.constant_bytes.size() > w && args.constants[w] != nullptr &&
        args.constant_bytes[w] < static_cast<size_t>(image.packed_bytes()))
      return invalid_argument("{} bytes of packed weights for {}", args.constant_bytes[w], args.inputs[w].to_string());
  }
  return Status();
}

Result<FedProduct> describe_fed(const Problem& problem, const BindArgs& args) {
  WOOTZ_ASSIGN_OR_RETURN(FedProduct p,
                         adds_results(problem) ? describe_fed_sum(problem, args) : describe_one(problem, args));
  WOOTZ_RETURN_IF_ERROR(settle_fed(args, problem.inputs[0].dtype, kFedTiles, &p));
  return p;
}

void add_windows(const FedImage& image, int64_t tile_rows, KernelSource* source) {
  const TileProduct& b = image.b;
  const bool w = b.window;
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
                                                     {"lines", image.lines},
                                                     {"tiles_m", pieces(b.rows, tile_rows)}};
  for (const auto& [name, value] : numbers) source->number(name, value, "int");
}

TensorView view_of_rows(const FedImage& image, DType type, int64_t lines) {
  const TileProduct& b = image.b;
  TensorView view;
  view.type = type;
  view.lines = lines;
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

TensorView view_of_columns(const FedImage& image, DType type, int64_t lines) {
  TensorView view;
  view.type = type;
  view.viewed = Viewed::kMatrix;
  view.lines = lines;
  view.extents = {image.stages() * image.b.places(), image.padded_columns(), 1, 1};
  return view;
}

Result<std::optional<PackedForm>> pack_fed(const Problem& problem, int input, const HostTensor& source) {
  WOOTZ_ASSIGN_OR_RETURN(const FedProduct p,
                         describe_fed(problem, {operand_dims(problem.inputs), operand_dims(problem.outputs), {}}));
  for (const FedImage& image : p.images)
    if (input == image.w) return std::optional(packed_columns(p.reads.problem, image, source));
  return std::optional<PackedForm>{};
}

Result<std::optional<PackedForm>> pack_fed_among(const Problem& problem, int input,
                                                 std::span<const HostTensor> sources) {
  const auto at = [&](int i) { return sources[static_cast<size_t>(i)]; };
  WOOTZ_ASSIGN_OR_RETURN(const FedProduct p,
                         describe_fed(problem, {operand_dims(problem.inputs), operand_dims(problem.outputs), {}}));
  if (p.added >= 0 && input == p.bias) return std::optional(packed_biases(at(p.bias), at(p.added), p.b().columns));
  if (const auto& norm = p.b().norm; norm && input == p.images[0].w) {
    const auto given = [&](int i) { return i < 0 ? HostTensor() : at(i); };
    return std::optional(
        packed_normalized(p.reads.problem, p.images[0], at(input), given(norm->scale), given(norm->bias)));
  }
  return pack_fed(problem, input, at(input));
}

Status generate_fed(const Problem& problem, const BindArgs& args, size_t index, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const FedProduct p, describe_fed(problem, args));
  return write_fed(problem, p, kFedTiles[index], launches);
}

Status write_fed(const Problem& problem, const FedProduct& p, const FedTile& tile, std::vector<Launch>* launches) {
  if (p.b().rows * p.b().columns == 0) return Status();
  if (!divides(p, tile)) return unsupported("a sum of {} stages by {} blocks", p.stages(), tile.cluster);
  if (!can_normalize(p, tile)) return unsupported("normalized rows by a part of a sum, or beyond shared memory");
  const DType type = problem.inputs[0].dtype, w = problem.inputs[static_cast<size_t>(p.images[0].w)].dtype;
  KernelSource source("gemm/fed.cuh", true);
  source.type("X", storage_type(type));
  source.type("W", storage_type(w));
  source.type("Y", storage_type(problem.outputs[0].dtype));
  source.type("Part", "float");
  write_numbers(p, tile, &source);
  source.operand("Y* __restrict__", "y", {true, 0});
  write_views(p, type, tile, &source);
  write_scales(p.images[0], &source);
  WOOTZ_RETURN_IF_ERROR(write_norm(problem, p.images[0], &source));
  write_block_scales(p, &source);
  WOOTZ_RETURN_IF_ERROR(write_by_eight(
      p.reads.problem, {p.reads.dims, p.reads.made, {}}, p.b().columns,
      {.w = p.reads.w, .bias = p.bias, .halves_ahead = true, .wide = p.blocks.has_value(), .in_words = true}, &source));
  source.code(wide_product(tile.columns, type, w));
  LaunchSize size;
  size.grid_x = static_cast<unsigned>(blocks_of(p, tile));
  size.grid_z = size.cluster = static_cast<unsigned>(tile.cluster);
  size.block = 384;
  size.shared = static_cast<unsigned>(tile.bytes() + note_bytes(p, tile));
  size.at_once = 1;
  return source.finish(size, launches);
}

// 0: there are too few tiles for half of the multiprocessors (of a sum for all: its two steps could run beside each
// other), two others (of a sum, three) are better, or a library is sure to be.
double estimate_fed(const Problem& problem, size_t index) {
  const std::vector<Dims> in = operand_dims(problem.inputs), out = operand_dims(problem.outputs);
  const Result<FedProduct> p = describe_fed(problem, {in, out, {}});
  return p.ok() ? estimate_fed_tile(problem, *p, kFedTiles, index) : 0;
}

double estimate_fed_tile(const Problem& problem, const FedProduct& p, std::span<const FedTile> tiles, size_t index) {
  constexpr size_t kMost = 2, kMostOfSum = 3;
  constexpr double kHopeless = 1.3;
  const bool is_sum = p.images.size() > 1;
  const int64_t least = is_sum ? kMultiprocessors : 64;
  const double bytes = bytes_read(problem, p), others = others_us(p, bytes);
  if (!can_normalize(p, tiles[index])) return 0;
  if (tiles[index].cluster > 1) return estimate_divided(p, tiles[index], others);
  const int64_t most = p.b().norm ? kMultiprocessors : INT64_MAX;  // each has one
  if (tiles_of(p, tiles[index]) < least || tiles_of(p, tiles[index]) > most) return 0;
  const double us = us_of(p, tiles[index], bytes);
  size_t better = 0;
  for (size_t i = 0; i < tiles.size(); ++i)
    better += i != index && tiles[i].cluster == 1 && can_normalize(p, tiles[i]) && tiles_of(p, tiles[i]) >= least &&
              us_of(p, tiles[i], bytes) < us;
  return better < (is_sum ? kMostOfSum : kMost) && us < kHopeless * others ? us : 0;
}

}  // namespace wootz::cuda
