// Family attention in 16 bits on Hopper GPUs, over at most 256 keys: whole heads, or 64 rows of one and more, brought
// to shared memory by the unit for tensors.
#include <algorithm>
#include <array>

#include "backend/operand_dims.h"
#include "backends/cuda/generate/attention.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/wide_products.h"

namespace wootz::cuda {
namespace {

constexpr int64_t kMultiprocessors = 132, kTileRows = 64, kPlaces = 64, kMostKeys = 256, kMostTeams = 3;
constexpr int64_t kMostShared = 227 * 1024, kAligned = 1024, kBarBytes = 3 * 8;

int64_t pieces(int64_t count, int64_t size) { return (count + size - 1) / size; }

// How the rows of heads are divided: `tiles` of a unit of work, which come to shared memory together with its keys.
struct Division {
  int64_t tiles = 1, teams = 1, stages = 1, groups = 1, units = 1, blocks = 1;
  double us = 0;
};

struct Fed {
  AttentionShape shape;
  int64_t keys = 0;  // of which the last may not be there
  int64_t tiles() const { return pieces(shape.rows, kTileRows); }
  int64_t stage_bytes(int64_t tiles) const {
    return (tiles * kTileRows * shape.size + keys * (shape.size + shape.v_size)) * 2;
  }
};

// On an H200: a start, the first unit's way to its block, then the teams' rounds or what the L2 gives. Of a tile alone
// both products and the exponentials take their time one after the other; of several teams the products do.
Division division_of(const Fed& f, int64_t tiles, int64_t teams) {
  constexpr double kStartUs = 1.6, kBlockBytesPerUs = 6e4, kL2BytesPerUs = 5e6, kCyclesPerUs = 1700;
  constexpr double kTileCycles = 300, kMacsPerCycle = 1800, kScoresPerCycle = 11;
  const AttentionShape& a = f.shape;
  Division d{.tiles = tiles, .teams = teams};
  d.groups = pieces(f.tiles(), tiles);
  d.units = a.batch * a.heads * d.groups;
  d.blocks = std::min(kMultiprocessors, d.units);
  const int64_t turns = pieces(d.units, d.blocks), bytes = f.stage_bytes(tiles);
  d.stages = std::min((kMostShared - kAligned) / (bytes + kBarBytes), turns);
  const auto scores = static_cast<double>(kTileRows * f.keys);
  const double products = scores * static_cast<double>(a.size + a.v_size) / kMacsPerCycle;
  const double round = std::max(products + scores / kScoresPerCycle + kTileCycles, products * static_cast<double>(teams));
  const double compute = static_cast<double>(pieces(turns * tiles, teams)) * round / kCyclesPerUs;
  const double memory = static_cast<double>(d.units * bytes) / kL2BytesPerUs;
  d.us = kStartUs + static_cast<double>(bytes) / kBlockBytesPerUs + std::max(compute, memory);
  return d;
}

Division best_division(const Fed& f) {
  constexpr int64_t kMostTiles = 4, kThreeTeamsKeys = 208;  // with more, registers do not suffice
  Division best;
  for (int64_t tiles = 1; tiles <= std::min(kMostTiles, f.tiles()); ++tiles)
    for (int64_t teams = 1; teams <= (f.keys > kThreeTeamsKeys ? 2 : kMostTeams); ++teams) {
      const Division d = division_of(f, tiles, teams);
      if (d.stages >= 1 && (best.us == 0 || d.us < best.us)) best = d;
    }
  return best;
}

TensorView view_of(const Heads& h, DType type, int64_t lines) {
  TensorView view;
  view.type = type;
  view.viewed = Viewed::kHeads;
  view.lines = lines;
  view.extents = {h.dims[3], h.dims[2], h.dims[1], h.dims[0]};
  view.offset = h.offset;
  // Where there is one of them only, its distance is of no importance, but may be nothing that the unit takes.
  const int64_t strides[] = {h.row, h.head, h.batch};
  for (size_t i = 0; i < 3; ++i) view.strides[i] = view.extents[i + 1] == 1 ? kPlaces : strides[i];
  return view;
}

std::array<TensorView, 3> views_of(const Fed& f, DType type) {
  const AttentionShape& a = f.shape;
  return {view_of(a.q, type, kTileRows), view_of(a.k, type, f.keys), view_of(a.v, type, f.keys)};
}

Result<Fed> fed_of(const Problem& p, const BindArgs& args) {
  Fed f;
  WOOTZ_ASSIGN_OR_RETURN(f.shape, attention_shape(p, args));
  const AttentionShape& a = f.shape;
  const DType type = p.inputs[0].dtype;
  if (dtype_bits(type) != 16 || p.outputs[0].dtype != type)
    return unsupported("attention of {} with a result in {} by this kernel", dtype_name(type),
                       dtype_name(p.outputs[0].dtype));
  if (p.passing) return unsupported("extents that one run finds");
  for (const int64_t size : {a.size, a.v_size})
    if (size != kPlaces && size != 2 * kPlaces) return unsupported("heads of {}, which are not of whole lines", size);
  if (a.v_size > a.size) return unsupported("values of {} for keys of {}", a.v_size, a.size);
  if (a.keys > kMostKeys) return unsupported("{} keys at once", a.keys);
  if (a.k.column != 1 || !in_steps_of(a.y, 8)) return unsupported("rows of heads that are not in steps of 16 bytes");
  f.keys = pieces(std::max<int64_t>(1, a.keys), 16) * 16;
  if (a.whole.volume() == 0 || a.keys == 0) return f;
  for (const TensorView& view : views_of(f, type)) WOOTZ_RETURN_IF_ERROR(check_view(view));
  if (a.batch * a.heads * f.tiles() >= int64_t{1} << 31) return unsupported("{} heads", a.batch * a.heads);
  return f;
}

}  // namespace

Status generate_attention_fed(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const Fed f, fed_of(p, args));
  const AttentionShape& a = f.shape;
  if (a.whole.volume() == 0) return Status();
  if (a.keys == 0) return unsupported("attention over no keys on tensor cores");
  const Division d = best_division(f);
  const DType type = p.inputs[0].dtype;
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, attention_source("attention/fed.cuh", p, args, a, views_of(f, type)));
  source.type("Y", storage_type(type));
  const std::pair<const char*, int64_t> fixed[] = {
      {"kKeys", f.keys},     {"kTeams", d.teams}, {"kTiles", d.tiles},
      {"kStages", d.stages}, {"kCluster", 1},     {"kAddsMask", p.as<AttentionParams>().has_mask}};
  for (const auto& [name, value] : fixed) source.fixed(name, value);
  source.number("groups", d.groups);
  source.number("units", d.units);
  source.number("blocks", d.blocks);
  source.code(wide_product(static_cast<int>(f.keys > 128 ? f.keys / 2 : f.keys), type));
  source.code(turned_product(static_cast<int>(a.v_size), type));
  LaunchSize size;
  size.block = static_cast<unsigned>((1 + d.teams) * 128);
  size.grid_x = static_cast<unsigned>(d.blocks);
  size.shared = static_cast<unsigned>(kAligned + d.stages * (f.stage_bytes(d.tiles) + kBarBytes));
  size.at_once = 1;
  return source.finish(size, launches);
}

double estimate_attention_fed(const Problem& p) {
  const std::vector<Dims> in = operand_dims(p.inputs), out = operand_dims(p.outputs);
  const Result<Fed> f = fed_of(p, {in, out, {}});
  return f.ok() && f->shape.keys > 0 && f->shape.whole.volume() > 0 ? best_division(*f).us : 0;
}

}  // namespace wootz::cuda
