// The kernel of products on tensor cores, gemm/tile.cuh, for a problem.
#include <algorithm>

#include "backends/cuda/generate/kernel_source.h"
#include "backends/cuda/generate/row_packs.h"
#include "backends/cuda/generate/tile.h"
#include "backends/cuda/generate/walkers.h"
#include "base/fp8.h"

namespace wootz::cuda {
namespace {

// An operand of the expression at the results of a thread: its strides over rows, and along the columns. Of results by
// planes, a row is a plane and its columns are the pixels.
struct Operand {
  std::string name;
  DType type = DType::kF32;
  int64_t along = 0;
  bool constant = false;
};
struct Operands {
  std::vector<Operand> all;   // the bias first
  std::vector<Axis> axes;     // rows of the result in memory's order, with a stride for each operand
  int64_t vector = 1;         // so many neighbours of a row are neighbours in all of them, or one element
  bool halves_ahead = false;  // what has 16 bits is read ahead of the sums as well
};

// Whether `count` neighbours of a row can be read and stored at once: by no more than 16 bytes, which is what addresses
// are multiples of; constants are ours to place.
bool by_vectors(const Problem& p, const Operands& o, int64_t columns, int64_t count, size_t most = 16) {
  if (columns % count != 0 || dtype_bytes(p.outputs[0].dtype, count) > most) return false;
  for (size_t k = 0; k < o.all.size(); ++k) {
    const Operand& operand = o.all[k];
    if (operand.along != 0 && operand.along != 1) return false;
    if (operand.along == 0) continue;
    if (!p.inputs[k + 2].constant && dtype_bytes(operand.type, count) > most) return false;
    for (const Axis& a : o.axes)
      if (a.strides[k] % count != 0) return false;
  }
  return true;
}

// The axes of pixels as one, of which an operand has one stride.
Result<int64_t> along_pixels(const Dims& y, const std::vector<int64_t>& strides) {
  std::vector<Axis> axes;
  for (size_t a = 2; a < y.size(); ++a) axes.push_back({y[a], {strides[a]}});
  axes = merge_axes(std::move(axes));
  if (axes.size() > 1) return unsupported("an operand that is no plane of pixels");
  return axes.empty() ? 0 : axes[0].strides[0];
}

Result<Operands> read_operands(const Problem& p, const BindArgs& args, const TileProduct& b) {
  const bool conv = p.family() == Family::kConv, bias = p.num_main == 3;
  const Dims& y = args.outputs[0];
  const size_t column_axis = conv ? 1 : y.size() - 1;
  Operands o;
  std::vector<std::vector<int64_t>> strides;
  for (size_t i = 2; i < p.inputs.size(); ++i) {
    Dims d = args.inputs[i];
    if (i == 2 && bias && conv) {  // one value a channel, whatever its shape
      d = Dims::filled(y.rank(), 1);
      d[1] = y[1];
    }
    WOOTZ_ASSIGN_OR_RETURN(std::vector<int64_t> s,
                           strides_over(p.inputs[i].constant ? Layout::kLinear : p.inputs[i].layout, d, y));
    const size_t k = i - static_cast<size_t>(p.num_main) + 1;
    int64_t along = s[column_axis];
    if (b.planes) {
      WOOTZ_ASSIGN_OR_RETURN(along, along_pixels(y, s));
    }
    o.all.push_back({k == 0 ? "b" : fmt::format("e{}", k), p.inputs[i].dtype, along, p.inputs[i].constant});
    strides.push_back(std::move(s));
  }
  for (const int a : memory_order(conv && !b.planes ? Layout::kChannelsLast : Layout::kLinear, y.rank())) {
    if (b.planes ? a > 1 : static_cast<size_t>(a) == column_axis) continue;
    Axis axis{y[static_cast<size_t>(a)], {}};
    for (const auto& s : strides) axis.strides.push_back(s[static_cast<size_t>(a)]);
    o.axes.push_back(std::move(axis));
  }
  o.axes = merge_axes(std::move(o.axes));
  for (const int64_t count : {4, 8})
    if (by_vectors(p, o, b.planes ? b.out_h * b.out_w : b.columns, count)) o.vector = count;
  return o;
}

// Blocks on a Hopper GPU's multiprocessor by shared memory and registers: a thread's sums and `others`.
int blocks_at_once(const Tile& tile, int shared, int others) {
  const int sums = tile.rows * tile.columns * tile.shares / tile.threads();
  return std::max(1, std::min((227 << 10) / (shared + 1024), 65536 / (tile.threads() * (sums + others))));
}

struct Walk {
  Tile tile;
  int bytes = 0, at_once = 1;
  int64_t row_tiles = 0, walkers = 0;
};

// A short sum whose columns stay in shared memory, beside two tiles of rows, while a block takes one tile of rows after
// the other; false: there are too few of them, or they are too large.
bool walks(const TileProduct& b, const Tile& tile, int early, Walk* walk) {
  constexpr int64_t kLeast = 2;  // tiles of rows for each block
  const int64_t stages = (b.pitch() * b.size + tile.line - 1) / tile.line;
  if (!b.packed || b.window || stages > 8) return false;
  walk->tile = tile;
  walk->tile.stages = static_cast<int>(2 * stages);
  walk->bytes = walk->tile.bytes() + 2 * early * tile.rows * tile.columns;
  if (walk->bytes > (112 << 10) || (tile.capability() < 90 && walk->bytes > (99 << 10))) return false;
  const int64_t columns = (b.columns + tile.columns - 1) / tile.columns;
  walk->row_tiles = (b.rows + tile.rows - 1) / tile.rows;
  walk->at_once = blocks_at_once(walk->tile, walk->bytes, 72);
  walk->walkers = std::max<int64_t>(1, walked_multiprocessors() * walk->at_once / columns);
  return walk->at_once > 1 && walk->row_tiles >= kLeast * walk->walkers;
}

// Bytes that go by vectors, and change from row to row.
bool is_ahead(const Operands& all, const Operand& o) {
  return all.vector % 4 == 0 && o.name != "b" && o.along == 1 && is_byte(o.type);
}
// The same of 16 bits.
bool is_half_ahead(const Operands& all, const Operand& o) {
  return all.halves_ahead && all.vector == 8 && o.name != "b" && o.along == 1 &&
         (o.type == DType::kF16 || o.type == DType::kBF16);
}
// How many of the bytes come with the tile's first stage: all, where any GPU that has the tile has room for them.
int fetched_early(const Tile& tile, const Operands& all) {
  const auto count = static_cast<int>(
      std::count_if(all.all.begin(), all.all.end(), [&](const Operand& o) { return is_ahead(all, o); }));
  const int room = (tile.capability() >= 90 ? 227 << 10 : 99 << 10) - tile.bytes();
  return count * tile.rows * tile.columns <= room ? count : 0;
}

// What can be read ahead of the sums: bytes, as words, and halves.
void write_ahead(const Operands& operands, KernelSource* source) {
  std::string members, values, fetches;
  for (const Operand& o : operands.all) {
    const bool half = is_half_ahead(operands, o);
    if (!half && !is_ahead(operands, o)) continue;
    const std::string from = fmt::format("p.{0} + at.{0} + n", o.name);
    const std::string type = half ? fmt::format("Pack<{}, kVector>", storage_type(o.type)) : "Pack<u32, kVector / 4>";
    members += fmt::format("  {} {};\n", type, o.name);
    values += fmt::format("{}{}((const {}*)({}))", values.empty() ? "" : ", ", half ? "w_read_now" : "*", type, from);
    fetches += fmt::format("  {}(&to->{}, {}{});\n", half ? "w_copy16" : "w_copy8", o.name, from, half ? ", true" : "");
  }
  const char* const parameters = "const Operands& p, const Constants& c, const At& at, int n";
  source->code(
      fmt::format("struct Ahead {{\n{0}}};\n"
                  "W_FN Ahead ahead({1}) {{\n  return {{{2}}};\n}}\n"
                  "template <class To>\nW_FN void fetch({1}, To* to) {{\n{3}}}\n",
                  members, parameters, values, fetches));
}

// How an operand is read at neighbour k; `reads`: lines before the loop over them.
std::string read_at(const Operand& o, std::string* reads) {
  if (o.along != 1) return fmt::format("w_get(p.{0}[at.{0} + ((s64)n + k) * c.{0}_along])", o.name);
  *reads += fmt::format("  const Pack<{0}, kVector> of_{1} = {2}((const Pack<{0}, kVector>*)(p.{1} + at.{1} + n));\n",
                        storage_type(o.type), o.name, o.constant ? "w_read_constant" : "*");
  return fmt::format("w_get(of_{}.v[k])", o.name);
}

// results(): the bias, then the expression, whose constants are the `extras`.
Status write_results(const Operands& operands, const PointwiseExpr& epilogue, size_t extras, bool rounded,
                     bool in_words, KernelSource* source) {
  std::vector<std::string> names, inputs{"a[k]"};
  std::string reads;
  ExpressionRules rules{rounded ? Products::kRounded : Products::kFused, extras, {""}, in_words};
  for (const Operand& o : operands.all) {
    names.push_back(o.name);
    source->number(o.name + "_along", o.along);
    if (o.name == "b") {
      inputs[0] += " + " + read_at(o, &reads);
      continue;
    }
    const bool small = is_fp8(o.type);
    const std::string byte =
        fmt::format("w_{}byte<{}>(ahead.{}, k)", small ? "float_" : "", storage_type(o.type), o.name);
    inputs.push_back(is_ahead(operands, o)        ? byte
                     : is_half_ahead(operands, o) ? fmt::format("w_get(ahead.{}.v[k])", o.name)
                                                  : read_at(o, &reads));
    // A conversion is one instruction beside those for the sums, of which there is one for each result.
    rules.as_floats.push_back(is_ahead(operands, o) ? (small ? "" : "(float)") + byte : "");
  }
  source->walk("At", "at", operands.axes, names);
  write_ahead(operands, source);
  if (!epilogue.empty()) inputs.resize(epilogue.num_inputs - extras, "0");
  for (size_t i = 0; i < extras; ++i) inputs.push_back(fmt::format("extras[{}]", i));
  return source->results(epilogue,
                         "const float (&a)[kVector], const At& at, int n, const float* extras, const Ahead& ahead",
                         reads, inputs, rules);
}

// The expression's, and the bias; `w`: the operand of the step behind which they are; `bias`: that of the bias, if it
// is not the next.
void add_operands(const Problem& p, int w, int bias, KernelSource* source) {
  source->epilogue_operands(p, w - 1);
  if (p.num_main == 3)
    source->operand(fmt::format("const {}*", storage_type(p.inputs[2].dtype)), "b", {false, bias < 0 ? w + 1 : bias});
}

// Lines that find the one of these parts, one after the other, which `at` is in: line(i, from) for part i, which begins
// at `from`. Their ends and extents are numbers of these names.
template <class Line>
std::string find_part(const std::vector<int64_t>& parts, const char* at, const char* end, const char* extent,
                      const Line& line, KernelSource* source) {
  std::string lines, from = "0";
  int64_t before = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    source->number(fmt::format("{}{}", extent, i), parts[i]);
    const std::string to = fmt::format("{}{}", end, i + 1);
    const bool last = i + 1 == parts.size();
    lines += (last ? "  " : fmt::format("  if ({} < c.{}) ", at, to)) + line(i, from);
    if (last) break;
    source->number(to, before += parts[i]);
    from = "c." + to;
  }
  return lines;
}

// An operand after the first of its kind has its number in its name.
std::string numbered(const char* name, size_t i) { return i == 0 ? name : fmt::format("{}{}", name, i); }

// gate_of(), source_of() and result_at()
void add_reads_and_results(const TileProduct& b, KernelSource* source) {
  const bool gated = b.gate >= 0;
  source->fixed("kGated", gated);
  source->fixed("kJoined", !b.joined.empty());
  source->type("G", storage_type(b.gate_type));
  if (gated) source->operand("const G*", "gate", {false, b.gate});
  for (size_t i = 1; i < b.joined.size(); ++i)
    source->operand("const X*", numbered("x", i), {false, b.x + static_cast<int>(i)});
  for (size_t i = 1; i < b.parts.size(); ++i)
    source->operand("Y* __restrict__", numbered("y", i), {true, static_cast<int>(i)});
  const auto read = [](size_t i, const std::string& from) {
    return fmt::format("return {{p.{}, c.wide{}, k - {}}};\n", numbered("x", i), i, from);
  };
  const auto made = [](size_t i, const std::string& from) {
    return fmt::format("return p.{} + row * c.made{} + (n - {});\n", numbered("y", i), i, from);
  };
  const std::string reads =
      b.joined.empty() ? "  return {p.x, c.channels, k};\n" : find_part(b.joined, "k", "from", "wide", read, source);
  const std::string results = b.parts.empty() ? "  return p.y + row * c.columns + n;\n"
                                              : find_part(b.parts, "n", "until", "made", made, source);
  source->code(
      fmt::format("W_FN const G* gate_of(const Operands& p) {{ return {}; }}\n"
                  "struct Source {{\n  const X* x;\n  int wide, at;\n}};\n"
                  "W_FN Source source_of(const Operands& p, const Constants& c, int k) {{\n{}}}\n"
                  "W_FN Y* result_at(const Operands& p, const Constants& c, s64 row, int n) {{\n{}}}\n",
                  gated ? "p.gate" : "nullptr", reads, results));
}

}  // namespace

Status add_norm(const TileProduct& b, const Problem* step, int64_t vector, KernelSource* source) {
  const TileProduct::Norm norm = b.norm.value_or(TileProduct::Norm{});
  source->fixed("kNormed", b.norm.has_value());
  source->fixed("kCentered", norm.centered);
  source->fixed("kKept", norm.kept);
  source->fixed_real("kEpsilon", norm.epsilon);
  if (!norm.kept) return Status();
  if (b.depth() % vector != 0 || vector > 8) return unsupported("normalized rows of {}, by {}", b.depth(), vector);
  source->type("A", "float");
  source->operand("X* __restrict__", "kept", {true, 1});
  add_row_parameters(*step, norm.scale, norm.bias, source);
  return Status();
}

Tile with_room_for(Tile tile, const TileProduct& b) {
  tile.gates = b.gate < 0 ? 0 : b.size == 1 ? 6 : 1;  // bytes: the gate, and floats
  tile.notes = b.norm ? tile.shares * tile.warps_n * tile.rows * 8 : 0;
  return tile;
}

bool can_normalize(const Tile& tile, const TileProduct& b) {
  return tile.cluster == 1 && with_room_for(tile, b).capability() == tile.capability();
}

Tile for_depth(Tile tile, const TileProduct& b) {
  const int64_t step = tile.line / b.size * tile.shares * tile.cluster;
  tile.stages = static_cast<int>(std::min<int64_t>(tile.stages, (b.pitch() + step - 1) / step + 1));
  return tile;
}

int resident_blocks(const Tile& tile, const TileProduct& b, size_t operands) {
  return blocks_at_once(tile, tile.bytes(), 68 + (b.window ? 16 : 0) + (operands > 0 ? 16 : 0));
}

Status write_by_eight(const Problem& p, const BindArgs& args, int64_t columns, const EightWriting& how,
                      KernelSource* source) {
  TileProduct b;
  b.columns = columns;
  WOOTZ_ASSIGN_OR_RETURN(Operands operands, read_operands(p, args, b));
  constexpr size_t kFloats = 8 * sizeof(float);
  if (how.wide && by_vectors(p, operands, columns, 8, kFloats)) operands.vector = 8;
  if (operands.vector != 8) return unsupported("results that are not stored by eight");
  operands.halves_ahead = how.halves_ahead;
  source->fixed("kVector", operands.vector);
  add_operands(p, how.w, how.bias, source);
  return write_results(operands, p.epilogue, 0, how.rounded, how.in_words, source);
}

Status write_tile(const Problem& p, const BindArgs& args, const TileProduct& b, const Tile& given,
                  const TileWriting& how, std::vector<Launch>* launches) {
  const Tile whole = with_room_for(given, b);
  if (b.planes && whole.cluster > 1) return unsupported("results by planes from the blocks of a cluster");
  if (b.norm && !can_normalize(given, b))
    return unsupported("normalized rows by the blocks of a cluster, or beyond shared memory");
  WOOTZ_ASSIGN_OR_RETURN(const Operands operands, read_operands(p, args, b));
  const bool halves = b.size == 2;
  const bool direct = operands.vector == 8 && whole.direct() && !b.planes;
  const int early = direct ? fetched_early(whole, operands) : 0;
  Walk walk;
  const bool walking = direct && !how.arguments && !b.norm && walks(b, whole, early, &walk);
  const Tile tile = walking ? walk.tile : halves || (direct && !how.arguments) ? for_depth(whole, b) : whole;
  std::vector<float> extras;
  const PointwiseExpr epilogue = b.scaled && how.rounded ? with_constants_as_operands(p.epilogue, &extras) : p.epilogue;
  KernelSource source("gemm/tile.cuh", how.arguments);
  source.type("X", storage_type(p.inputs[0].dtype));
  source.type("W", how.w);
  source.type("Y", storage_type(p.outputs[0].dtype));
  source.type("Part", how.part);
  add_wholes(b, tile, how.arguments, &source);
  add_tile(tile, &source);
  add_product(b, tile, &source);
  source.fixed("kVector", operands.vector);
  source.fixed("kDirect", direct);
  source.fixed("kPlanes", b.planes);
  source.fixed("kEarly", early > 0);
  source.fixed("kWalk", walking);
  source.number("row_tiles", walk.row_tiles);
  source.number("walkers", walk.walkers);
  source.fixed("kExtras", static_cast<int64_t>(extras.size()));
  source.operand("Y* __restrict__", "y", {true, 0});
  source.operand("const X*", "x", {false, b.x});
  source.operand("const W*", "w", {false, b.w});
  add_operands(p, b.w, -1, &source);
  add_reads_and_results(b, &source);
  WOOTZ_RETURN_IF_ERROR(add_norm(b, how.step, operands.vector, &source));
  source.walk("Matrices", "matrices", b.matrices, {"x", "w"});
  WOOTZ_RETURN_IF_ERROR(write_results(operands, epilogue, extras.size(), how.rounded, false, &source));
  LaunchSize size;
  size.block = static_cast<unsigned>(tile.threads());
  size.shared = static_cast<unsigned>(tile.bytes() + early * tile.rows * tile.columns);
  if (halves)
    size.at_once = static_cast<unsigned>(resident_blocks(tile, b, p.inputs.size() - static_cast<size_t>(p.num_main)));
  else if (direct)
    size.at_once = static_cast<unsigned>(
        blocks_at_once(tile, static_cast<int>(size.shared), tile.stages < whole.stages ? 56 : 64));
  else
    size.at_once = static_cast<unsigned>(tile.at_once());
  size.grid_x = blocks_for(b.rows, tile.rows);
  if (walking) {
    size.shared = static_cast<unsigned>(walk.bytes);
    size.at_once = static_cast<unsigned>(walk.at_once);
    size.grid_x = static_cast<unsigned>(walk.walkers);
  }
  size.grid_y = blocks_for(b.columns, tile.columns);
  size.grid_z = static_cast<unsigned>(b.batch * tile.cluster);
  size.cluster = static_cast<unsigned>(tile.cluster);
  return source.finish(size, launches);
}

}  // namespace wootz::cuda
