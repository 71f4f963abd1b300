// Products and convolutions of many rows of 16-bit floats by constants of which each four places of a sum hold two
// elements (2:4), on a Hopper GPU's sparse tensor cores: gemm/fed_sparse.cuh.
#include <algorithm>
#include <cstring>

#include "backend/operand_dims.h"
#include "backend/sparsity.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/fed.h"
#include "backends/cuda/generate/tile_cost.h"
#include "backends/cuda/generate/walkers.h"
#include "backends/cuda/generate/wide_products.h"
#include "backends/cuda/support/int8_weights.h"

namespace wootz::cuda {
namespace {

constexpr int64_t kPlaces = 64, kTeamColumns = 128, kTeam = 128, kWords = 4;

int64_t pieces(int64_t count, int64_t size) { return (count + size - 1) / size; }

struct SparseProduct {
  FedProduct fed;
  const FedImage& image() const { return fed.images[0]; }
  const TileProduct& b() const { return fed.b(); }
  int64_t stages() const { return fed.stages() / 2; }
  int64_t teams() const { return pieces(b().columns, kTeamColumns); }  // of columns
  int64_t value_bytes() const { return teams() * kTeamColumns * stages() * kPlaces * 2; }
  int64_t choice_bytes() const { return teams() * stages() * kTeam * kWords * 4; }
  int64_t bytes() const { return value_bytes() + choice_bytes(); }
  int64_t tiles(const SparseTile& tile) const {
    return pieces(b().rows, tile.rows) * pieces(b().columns, tile.columns);
  }
};

TensorView view_of_values(const SparseProduct& p, DType type, int64_t lines) {
  TensorView view = view_of_columns(p.image(), type, lines);
  view.extents = {p.stages() * kPlaces, p.teams() * kTeamColumns, 1, 1};
  return view;
}

// A team's and stage's choices are 16 lines of 128 bytes; of a block's teams they follow each other.
TensorView view_of_choices(const SparseProduct& p, DType type, int64_t columns) {
  TensorView view;
  view.type = type;
  view.viewed = Viewed::kMatrix;
  view.lines = columns / 8;
  view.extents = {kPlaces, p.choice_bytes() / (kPlaces * 2), 1, 1};
  view.offset = p.value_bytes() / 2;
  return view;
}

Result<SparseProduct> describe(const Problem& problem, const BindArgs& args) {
  if (!has_sparse_weights(problem)) return unsupported("weights that are not known to be 2:4");
  if (problem.is(Family::kChain)) return unsupported("a chain");
  SparseProduct p;
  BindArgs shapes{args.inputs, args.outputs, {}};  // packed weights are of another form
  WOOTZ_ASSIGN_OR_RETURN(p.fed, describe_fed(problem, shapes));
  if (p.fed.images.size() != 1) return unsupported("a sum of convolutions");
  if (p.fed.stages() % 2 != 0)
    return unsupported("sums of {} taps of {} channels, which do not fill places by 128", p.b().taps_h * p.b().taps_w,
                       p.b().channels);
  if (p.b().channels % 4 != 0) return unsupported("{} channels", p.b().channels);
  for (const SparseTile& tile : kSparseTiles) {
    if (p.b().rows * p.b().columns == 0) continue;
    WOOTZ_RETURN_IF_ERROR(check_view(view_of_rows(p.image(), problem.inputs[0].dtype, tile.rows)));
    WOOTZ_RETURN_IF_ERROR(check_view(view_of_values(p, problem.inputs[0].dtype, tile.columns)));
    WOOTZ_RETURN_IF_ERROR(check_view(view_of_choices(p, problem.inputs[0].dtype, tile.columns)));
  }
  const auto w = static_cast<size_t>(p.image().w);
  if (args.constant_bytes.size() > w && args.constants[w] != nullptr &&
      args.constant_bytes[w] < static_cast<size_t>(p.bytes()))
    return invalid_argument("{} bytes of packed weights for {}", args.constant_bytes[w], args.inputs[w].to_string());
  return p;
}

Result<SparseProduct> at_optimum(const Problem& problem) {
  const std::vector<Dims> in = operand_dims(problem.inputs), out = operand_dims(problem.outputs);
  return describe(problem, {in, out, {}});
}

// Of a line of the first side: which of 128 columns it has. A thread's sums are of lines l and l + 8 of 64 lines twice.
int64_t column_of(int64_t line) {
  const int64_t set = line / 64, warp = line % 64 / 16, half = line % 16 / 8;
  return warp * 32 + line % 8 * 4 + set * 2 + half;
}

// The elements of four places, and where they stand; two that are not there are 0.
struct TwoOfFour {
  uint16_t values[2] = {};
  unsigned places[2] = {};
};

std::optional<TwoOfFour> two_of_four(const uint16_t* from) {
  TwoOfFour two;
  int count = 0;
  for (unsigned i = 0; i < 4; ++i) {
    if ((from[i] & 0x7fff) == 0) continue;
    if (count == 2) return std::nullopt;
    two.values[count] = from[i];
    two.places[count++] = i;
  }
  // The places are in order, and not the same.
  if (count == 1 && two.places[0] == 3) {
    two.values[1] = std::exchange(two.values[0], uint16_t{0});
    two.places[1] = std::exchange(two.places[0], 0U);
  } else if (count < 2) {
    two.places[1] = two.places[0] + 1;
  }
  return two;
}

// Packs a problem's weights into what the kernel reads.
class Packer {
 public:
  Packer(const SparseProduct& p, WeightColumns from)
      : p_(p), from_(std::move(from)), to_(static_cast<size_t>(p.bytes())) {}

  Result<std::vector<std::byte>> run() && {
    for (int64_t line = 0; line < p_.teams() * kTeamColumns; ++line)
      for (int64_t stage = 0; stage < p_.stages(); ++stage)
        for (int64_t four = 0; four < 2 * kPlaces / 4; ++four) WOOTZ_RETURN_IF_ERROR(pack(line, stage, four));
    return std::move(to_);
  }

 private:
  Status pack(int64_t line, int64_t stage, int64_t four) {
    const int64_t column = line / kTeamColumns * kTeamColumns + column_of(line % kTeamColumns);
    uint16_t given[4] = {};
    const int64_t lines = p_.image().lines, step = stage * 2 + four / 16;
    const int64_t channel = step % lines * kPlaces + four % 16 * 4, tap = step / lines;
    if (column < from_.columns && channel < from_.channels)
      std::memcpy(given,
                  &from_.bytes[static_cast<size_t>(((column * from_.taps + tap) * from_.channels + channel) * 2)],
                  sizeof given);
    const std::optional<TwoOfFour> two = two_of_four(given);
    if (!two)
      return invalid_argument(
          "weights that are not 2:4: of column {}, more than two of elements {} to {} are not 0. The plan was built "
          "for weights with zeros (kSPARSE_WEIGHTS): give it such ones, or build it without",
          column, tap * from_.channels + channel, tap * from_.channels + channel + 3);
    std::memcpy(&to_[static_cast<size_t>(((line * p_.stages() + stage) * kPlaces + four * 2) * 2)], two->values,
                sizeof two->values);
    choose(line, stage, four, *two);
    return Status();
  }

  void choose(int64_t line, int64_t stage, int64_t four, const TwoOfFour& two) {
    const int64_t own = line % kTeamColumns, set = own / 64, half = own % 16 / 8, step = four / 8;
    const int64_t thread = own % 64 / 16 * 32 + own % 8 * 4 + step % 2 * 2 + four % 8 / 4;
    const int64_t word = ((stage * p_.teams() + line / kTeamColumns) * kTeam + thread) * kWords + set * 2 + step / 2;
    std::byte* const at = &to_[static_cast<size_t>(p_.value_bytes() + word * 4)];
    uint32_t bits = 0;
    std::memcpy(&bits, at, sizeof bits);
    bits |= (two.places[0] | two.places[1] << 2) << (half * 16 + four % 4 * 4);
    std::memcpy(at, &bits, sizeof bits);
  }

  const SparseProduct& p_;
  WeightColumns from_;
  std::vector<std::byte> to_;
};

double us_of(const SparseProduct& p, const SparseTile& tile, double bytes) {
  constexpr double kStartUs = 3, kBytesPerUs = 3.6e6, kShown = 0.3, kStoreUs = 0.4;
  const auto rounds = static_cast<double>(pieces(p.tiles(tile), walked_multiprocessors()));
  const auto macs = static_cast<double>(tile.rows * tile.columns * p.stages() * 2 * kPlaces);
  const double compute = rounds * (macs / tile.macs_per_us + (tile.in_turn ? 0 : kStoreUs)),
               memory = bytes / kBytesPerUs;
  return kStartUs + std::max(compute, memory) + kShown * std::min(compute, memory);
}

}  // namespace

Result<std::optional<PackedForm>> pack_sparse(const Problem& problem, int input, const HostTensor& source) {
  WOOTZ_ASSIGN_OR_RETURN(const SparseProduct p, at_optimum(problem));
  if (input != p.image().w) return std::optional<PackedForm>{};
  return std::optional(packed_by(static_cast<size_t>(p.bytes()), [p, source]() -> Result<std::vector<std::byte>> {
    return Packer(p, weight_columns(p.fed.reads.problem, source, 2)).run();
  }));
}

Status generate_sparse(const Problem& problem, const BindArgs& args, size_t index, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const SparseProduct p, describe(problem, args));
  if (p.b().rows * p.b().columns == 0) return Status();
  const SparseTile& tile = kSparseTiles[index];
  const DType type = problem.inputs[0].dtype;
  const int64_t blocks = std::min(walked_multiprocessors(), p.tiles(tile));
  KernelSource source("gemm/fed_sparse.cuh", true);
  source.type("X", storage_type(type));
  source.type("Y", storage_type(problem.outputs[0].dtype));
  source.type("Part", "float");
  const std::pair<const char*, int64_t> fixed[] = {
      {"kRows", tile.rows}, {"kColumns", tile.columns}, {"kStages", tile.stages}, {"kInTurn", tile.in_turn}};
  for (const auto& [name, value] : fixed) source.fixed(name, value);
  add_float_sums(p.b(), &source);
  add_windows(p.image(), tile.rows, &source);
  const std::pair<const char*, int64_t> numbers[] = {
      {"stages", p.stages()}, {"teams", p.teams()}, {"tiles", p.tiles(tile)}, {"blocks", blocks}};
  for (const auto& [name, value] : numbers) source.number(name, value, "int");
  source.operand("Y* __restrict__", "y", {true, 0});
  source.view("x", {false, p.image().x}, view_of_rows(p.image(), type, tile.rows));
  source.view("w", {false, p.image().w}, view_of_values(p, type, tile.columns));
  source.view("choices", {false, p.image().w}, view_of_choices(p, type, tile.columns));
  const TileReads& reads = p.fed.reads;
  WOOTZ_RETURN_IF_ERROR(write_by_eight(reads.problem, {reads.dims, reads.made, {}}, p.b().columns,
                                       {.w = reads.w, .bias = p.fed.bias, .halves_ahead = true}, &source));
  source.code(sparse_product(tile.rows, type));
  LaunchSize size;
  size.grid_x = static_cast<unsigned>(blocks);
  size.block = 384;
  size.shared = static_cast<unsigned>(tile.bytes());
  size.at_once = 1;
  return source.finish(size, launches);
}

// 0: there are too few tiles for half of the multiprocessors, two others are better, or a library that multiplies by
// zeros too is sure to be.
double estimate_sparse(const Problem& problem, size_t index) {
  constexpr size_t kMost = 2;
  constexpr int64_t kLeastTiles = 64;
  constexpr double kHopeless = 1.3;
  const Result<SparseProduct> p = at_optimum(problem);
  if (!p.ok() || p->tiles(kSparseTiles[index]) < kLeastTiles) return 0;
  const double bytes = bytes_of(problem), us = us_of(*p, kSparseTiles[index], bytes);
  size_t better = 0;
  for (const SparseTile& tile : kSparseTiles)
    better += &tile != &kSparseTiles[index] && p->tiles(tile) >= kLeastTiles && us_of(*p, tile, bytes) < us;
  const TileProduct& b = p->b();
  const double macs = static_cast<double>(b.rows * b.columns) * static_cast<double>(b.depth());
  return better < kMost && us < kHopeless * library_us(macs, bytes) ? us : 0;
}

}  // namespace wootz::cuda
