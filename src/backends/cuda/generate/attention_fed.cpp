// Family attention in 16 bits on Hopper GPUs, whose operands the unit for tensors brings to shared memory: over at most
// 256 keys at once, for 64 rows of a head and more, and over any number of them in turns.
#include <algorithm>
#include <array>

#include "backend/operand_dims.h"
#include "backends/cuda/generate/attention.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/walkers.h"
#include "backends/cuda/generate/wide_products.h"

namespace wootz::cuda {
namespace {

constexpr int64_t kMultiprocessors = 132, kTileRows = 64, kPlaces = 64, kKeysAtOnce = 256;
constexpr int64_t kLongKeys = 128;  // at once, of more
constexpr int64_t kMostShared = 227 * 1024, kAligned = 1024, kBarBytes = 3 * 8, kTurnBytes = 8, kMostTeams = 3;
constexpr double kStartUs = 1.6, kBlockBytesPerUs = 6e4, kL2BytesPerUs = 5e6, kCyclesPerUs = 1700;
constexpr double kMacsPerCycle = 1800, kScoresPerCycle = 11;

int64_t pieces(int64_t count, int64_t size) { return (count + size - 1) / size; }

// How the rows of heads are divided: `tiles` of a unit of work, which come to shared memory together with its keys. No
// stages: they are not to be divided so.
struct Division {
  int64_t tiles = 1, teams = 1, stages = 1, groups = 1, units = 1, blocks = 1;
  bool by_turns = false;
  double us = 0;
};

struct Fed {
  AttentionShape shape;
  bool masked = false;
  int64_t keys = 0;  // at once, of which the last may not be there
  int64_t head_bytes() const { return keys * (shape.size + shape.v_size) * 2; }  // of these
  int64_t tile_bytes() const { return kTileRows * shape.size * 2; }
  int64_t tiles() const { return pieces(shape.rows, kTileRows); }
  int64_t stage_bytes(int64_t tiles) const { return tiles * tile_bytes() + head_bytes(); }
};

// On an H200: a start, the first unit's way to its block, then the teams' rounds or what the L2 gives. Of a tile alone
// both products and the exponentials take their time one after the other; of several teams the products do.
Division division_of(const Fed& f, int64_t tiles, int64_t teams) {
  constexpr double kTileCycles = 300, kShown = 0.3;
  const AttentionShape& a = f.shape;
  Division d{.tiles = tiles, .teams = teams};
  d.groups = pieces(f.tiles(), tiles);
  d.units = a.batch * a.heads * d.groups;
  d.blocks = std::min(walked_multiprocessors(), d.units);
  const int64_t turns = pieces(d.units, d.blocks), bytes = f.stage_bytes(tiles);
  d.stages = std::min((kMostShared - kAligned - teams * kTurnBytes) / (bytes + kBarBytes), turns);
  // More teams than tiles that the stages have room for: one would wait for a stage that is to be filled twice before,
  // and a barrier's parity does not tell these fillings apart.
  if (d.stages < turns && teams > d.stages * tiles) d.stages = 0;
  // By turns a team waits for the keys of its next tile before it has done with one: those of a unit so many on. With
  // more keys than these, registers do not suffice for both tiles, and two teams by turns take longer than three
  // without.
  constexpr int64_t kByTurnsKeys = 128;
  d.by_turns = teams > 1 && f.keys <= kByTurnsKeys && (d.stages == turns || d.stages > pieces(teams, tiles));
  const auto scores = static_cast<double>(kTileRows * f.keys);
  const double products = scores * static_cast<double>(a.size + a.v_size) / kMacsPerCycle;
  const double round =
      std::max(products + scores / kScoresPerCycle + kTileCycles, products * static_cast<double>(teams));
  const double compute = static_cast<double>(pieces(turns * tiles, teams)) * round / kCyclesPerUs;
  const double memory = static_cast<double>(d.units * bytes) / kL2BytesPerUs;
  d.us = kStartUs + static_cast<double>(bytes) / kBlockBytesPerUs + std::max(compute, memory) +
         kShown * std::min(compute, memory);
  return d;
}

// For which registers suffice: of fewer teams a thread has more.
int64_t most_teams(const Fed& f) {
  constexpr int64_t kThreeTeamsKeys = 208;
  return f.keys > kThreeTeamsKeys || f.shape.size > kPlaces || f.masked ? kMostTeams - 1 : kMostTeams;
}

Division best_division(const Fed& f) {
  constexpr int64_t kMostTiles = 4;
  Division best;
  for (int64_t tiles = 1; tiles <= std::min(kMostTiles, f.tiles()); ++tiles)
    for (int64_t teams = 1; teams <= most_teams(f); ++teams)
      if (const Division d = division_of(f, tiles, teams); d.stages >= 1 && (best.us == 0 || d.us < best.us)) best = d;
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

// How a kernel takes the keys of a head: all at once, in turns, or half of them in each of two blocks.
enum class Keys { kAtOnce, kInTurns, kDivided };
constexpr int64_t kHalves = 2, kDividedKeys = 128;

Result<Fed> fed_of(const Problem& p, const BindArgs& args, Keys how) {
  const bool in_turns = how == Keys::kInTurns, divided = how == Keys::kDivided;
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
  if (!in_turns && a.keys > (divided ? kDividedKeys : kKeysAtOnce)) return unsupported("{} keys at once", a.keys);
  if (in_turns && a.keys <= kLongKeys) return unsupported("{} keys, which come at once", a.keys);
  if (a.k.column != 1 || !in_steps_of(a.y, 8)) return unsupported("rows of heads that are not in steps of 16 bytes");
  f.masked = p.as<AttentionParams>().has_mask;
  f.keys = in_turns ? kLongKeys : pieces(std::max<int64_t>(1, a.keys), divided ? 16 * kHalves : 16) * 16;
  if (a.whole.volume() == 0 || a.keys == 0) return f;
  for (const TensorView& view : views_of(f, type)) WOOTZ_RETURN_IF_ERROR(check_view(view));
  if (a.batch * a.heads * f.tiles() >= int64_t{1} << 31) return unsupported("{} heads", a.batch * a.heads);
  return f;
}

Result<KernelSource> fed_source(const char* file, const Problem& p, const BindArgs& args, const Fed& f, int64_t teams,
                                int64_t stages, bool by_turns, int64_t cluster = 1) {
  const AttentionShape& a = f.shape;
  const DType type = p.inputs[0].dtype;
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, attention_source(file, p, args, a, views_of(f, type)));
  source.type("Y", storage_type(type));
  const std::pair<const char*, int64_t> fixed[] = {
      {"kKeys", f.keys},     {"kTeams", teams},      {"kStages", stages},
      {"kCluster", cluster}, {"kByTurns", by_turns}, {"kAddsMask", p.as<AttentionParams>().has_mask}};
  for (const auto& [name, value] : fixed) source.fixed(name, value);
  source.code(wide_product(static_cast<int>(f.keys > 128 ? f.keys / 2 : f.keys), type, type));
  source.code(turned_product(static_cast<int>(a.v_size), type));
  return source;
}

LaunchSize size_of(int64_t teams, int64_t blocks, int64_t shared) {
  LaunchSize size;
  size.block = static_cast<unsigned>((1 + teams) * 128);
  size.grid_x = static_cast<unsigned>(blocks);
  size.shared = static_cast<unsigned>(kAligned + shared);
  size.at_once = 1;
  return size;
}

// Keys divided between the two blocks of a cluster for each tile, where tiles by themselves leave multiprocessors idle.
// Over more keys than these, what the two tell each other takes as long as what they save (197, ViT-B/16: 3.06 us for
// 3.07; 128, BERT-Base: 2.4 for 2.7).
struct Split {
  Fed fed;
  int64_t tiles = 0;
  double us = 0;
};

Result<Split> split_of(const Problem& p, const BindArgs& args) {
  constexpr double kShareUs = 0.4, kTileCycles = 500;
  WOOTZ_ASSIGN_OR_RETURN(Fed fed, fed_of(p, args, Keys::kDivided));
  const AttentionShape& a = fed.shape;
  const int64_t tiles = a.batch * a.heads * fed.tiles();
  if (tiles * kHalves > kMultiprocessors) return unsupported("{} tiles by two blocks each", tiles);
  if (a.keys <= fed.keys) return unsupported("{} keys between two blocks", a.keys);
  const auto scores = static_cast<double>(kTileRows * fed.keys);
  const double products = scores * static_cast<double>(a.size + a.v_size) / kMacsPerCycle;
  const double us = kStartUs + kShareUs + static_cast<double>(fed.stage_bytes(1)) / kBlockBytesPerUs +
                    (products + scores / kScoresPerCycle + kTileCycles) / kCyclesPerUs;
  return Split{std::move(fed), tiles, us};
}

// How rows are divided where keys come in turns: a tile for each team of a block.
struct Turns {
  int64_t teams = 1, stages = 2, groups = 1, blocks = 1, shared = 0;
  double us = 0;
};

// A start, the first keys' way to the block, then rounds of blocks, of which several teams multiply one after the other
// while others find exponentials, or what the L2 gives.
Turns turns_of(const Fed& f, int64_t teams) {
  constexpr int64_t kMostStages = 4;
  constexpr double kFirstUs = 1, kTurnCycles = 100;
  const AttentionShape& a = f.shape;
  Turns t{.teams = teams};
  t.groups = pieces(f.tiles(), teams);
  t.blocks = a.batch * a.heads * t.groups;
  t.stages = std::min(
      kMostStages, (kMostShared - kAligned - 8 - teams * (f.tile_bytes() + kTurnBytes)) / (f.head_bytes() + kBarBytes));
  t.shared = teams * (f.tile_bytes() + kTurnBytes) + 8 + t.stages * (f.head_bytes() + kBarBytes);
  const auto scores = static_cast<double>(kTileRows * f.keys), turns = static_cast<double>(pieces(a.keys, f.keys));
  const double products = scores * static_cast<double>(a.size + a.v_size) / kMacsPerCycle;
  const double exponentials = scores / kScoresPerCycle + kTurnCycles;
  const double turn = std::max(
      {products + kTurnCycles, exponentials, static_cast<double>(teams) * products, (products + exponentials) * 0.8});
  const double rounds = static_cast<double>(pieces(t.blocks, kMultiprocessors));
  const double memory = static_cast<double>(t.blocks * f.head_bytes()) * turns / kL2BytesPerUs;
  t.us = kStartUs + std::max(rounds * (kFirstUs + turns * turn / kCyclesPerUs), memory);
  return t;
}

Turns best_turns(const Fed& f) {
  Turns best;
  for (int64_t teams = 1; teams <= most_teams(f); ++teams)
    if (const Turns t = turns_of(f, teams); t.stages >= 2 && (best.us == 0 || t.us < best.us)) best = t;
  return best;
}

}  // namespace

Status generate_attention_fed(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const Fed f, fed_of(p, args, Keys::kAtOnce));
  if (f.shape.whole.volume() == 0) return Status();
  if (f.shape.keys == 0) return unsupported("attention over no keys on tensor cores");
  const Division d = best_division(f);
  if (d.us == 0) return unsupported("{} keys of {} at once", f.shape.keys, f.shape.size);
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source,
                         fed_source("attention/fed.cuh", p, args, f, d.teams, d.stages, d.by_turns));
  source.fixed("kTiles", d.tiles);
  source.number("groups", d.groups);
  source.number("units", d.units);
  source.number("blocks", d.blocks);
  return source.finish(
      size_of(d.teams, d.blocks, d.stages * (f.stage_bytes(d.tiles) + kBarBytes) + d.teams * kTurnBytes), launches);
}

Status generate_attention_fed_long(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const Fed f, fed_of(p, args, Keys::kInTurns));
  if (f.shape.whole.volume() == 0) return Status();
  const Turns t = best_turns(f);
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source,
                         fed_source("attention/fed_long.cuh", p, args, f, t.teams, t.stages, t.teams > 1));
  source.number("groups", t.groups);
  return source.finish(size_of(t.teams, t.blocks, t.shared), launches);
}

Status generate_attention_fed_split(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const Split split, split_of(p, args));
  const Fed& f = split.fed;
  if (f.shape.whole.volume() == 0) return Status();
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, fed_source("attention/fed_split.cuh", p, args, f, 1, 1, false, kHalves));
  source.number("groups", f.tiles());
  constexpr int64_t kThreads = 128;
  LaunchSize size;
  size.block = kThreads;
  size.grid_x = static_cast<unsigned>(split.tiles);
  size.grid_z = kHalves;
  size.cluster = kHalves;
  // Rows, keys, values; of each block what it has of a half of the rows, and two numbers a thread.
  const int64_t joined = kTileRows * f.shape.v_size * 4 + kHalves * kThreads * 8;
  size.shared = static_cast<unsigned>(pieces(kAligned + f.stage_bytes(1) + joined + kBarBytes, kAligned) * kAligned);
  size.at_once = 1;
  size.beside = true;
  return source.finish(size, launches);
}

double estimate_attention_fed_split(const Problem& p) {
  const std::vector<Dims> in = operand_dims(p.inputs), out = operand_dims(p.outputs);
  const Result<Split> split = split_of(p, {in, out, {}});
  return split.ok() && split->fed.shape.whole.volume() > 0 ? split->us : 0;
}

double estimate_attention_fed(const Problem& p) {
  const std::vector<Dims> in = operand_dims(p.inputs), out = operand_dims(p.outputs);
  const Result<Fed> f = fed_of(p, {in, out, {}}, Keys::kAtOnce);
  return f.ok() && f->shape.keys > 0 && f->shape.whole.volume() > 0 ? best_division(*f).us : 0;
}

double estimate_attention_fed_long(const Problem& p) {
  const std::vector<Dims> in = operand_dims(p.inputs), out = operand_dims(p.outputs);
  const Result<Fed> f = fed_of(p, {in, out, {}}, Keys::kInTurns);
  return f.ok() && f->shape.whole.volume() > 0 ? best_turns(*f).us : 0;
}

}  // namespace wootz::cuda
