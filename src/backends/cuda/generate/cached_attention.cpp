// Family cached_attention: an attention of few rows that reads caches and what came to them where they lie.
#include "backend/cached_attention.h"

#include <algorithm>
#include <iterator>

#include "backend/concats.h"
#include "backend/operand_dims.h"
#include "backends/cuda/generate/attention.h"
#include "backends/cuda/generate/families.h"

namespace wootz::cuda {
namespace {

constexpr int64_t kThreads = 512, kMostTile = 96, kMostRows = 8, kOfScore = 4;
constexpr int64_t kMostKeys = 384;  // that are worth it: a block reads all keys of its head
static_assert(kMostTile * kOfScore <= kThreads);

// A part of keys or values: where its rows are.
struct Part {
  DType type = DType::kF32;
  int operand = 0;
  int64_t rows = 0, batch = 0, head = 0, row = 0;
};

struct Cached {
  CachedAttention parts;
  std::vector<Dims> inputs;  // of the attention
  AttentionShape shape;
  Part keys[2], values[2];  // the cache, and what came to it
  bool keys_first = true;

  int64_t rows() const {  // of a block
    int64_t rows = 1;
    while (rows < kMostRows && rows < shape.rows) rows *= 2;
    return rows;
  }
  int64_t row_blocks() const { return std::max<int64_t>(1, (shape.rows + rows() - 1) / rows()); }
  int64_t tiles() const { return std::max<int64_t>(1, (shape.keys + kMostTile - 1) / kMostTile); }
  int64_t tile() const {
    const int64_t each = (shape.keys + tiles() - 1) / tiles();
    return std::max<int64_t>(1, (each + 15) / 16) * 16;
  }
  int64_t shared() const {
    const int64_t pitch = (shape.size * 2 + 127) / 128 * 128 + 64;
    return 2 * tile() * pitch + 4 * (rows() * (shape.size + 2 * tile() + 2) + kThreads / 32 * shape.size);
  }
};

Result<Part> part_of(const Problem& concats, const ConcatPart& part, const Dims& x) {
  const TensorDesc& t = concats.inputs[part.input];
  if (!is_model_float(t.dtype) || t.layout != Layout::kLinear) return unsupported("a part of {}", dtype_name(t.dtype));
  const Dims strides = layout_strides(Layout::kLinear, x);
  const auto along = [&](size_t axis) { return strides[static_cast<size_t>(part.perm[axis])]; };
  Part made{.type = t.dtype, .operand = static_cast<int>(part.input), .rows = x[static_cast<size_t>(part.perm[2])]};
  made.batch = along(0);
  made.head = along(1);
  made.row = along(2);
  if (along(3) != 1) return unsupported("heads whose elements do not lie together");
  for (const int64_t stride : {made.batch, made.head, made.row})
    if (stride % 4 != 0) return unsupported("rows of heads that are not in steps of four");
  return made;
}

Status find_parts(const Problem& p, const BindArgs& args, Cached* made) {
  const auto& concats = made->parts.concats.as<ConcatsParams>();
  if (concats.axis != 2 || concats.counts != Ints{2, 2}) return unsupported("caches of {} parts", concats.counts[0]);
  made->keys_first = p.as<CachedAttentionParams>().keys == 0;
  const size_t keys = made->keys_first ? 0 : 1;
  const Dims wholes[] = {made->inputs[1 + keys], made->inputs[2 - keys]};
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<ConcatPart> parts,
                         concat_parts(made->parts.concats, args.inputs.first(4), wholes));
  for (size_t i = 0; i < 4; ++i) {
    Part& to = (i / 2 == keys ? made->keys : made->values)[i % 2];
    WOOTZ_ASSIGN_OR_RETURN(to, part_of(made->parts.concats, parts[i], args.inputs[i]));
  }
  if (made->keys[0].rows != made->values[0].rows) return unsupported("caches of unlike lengths");
  return Status();
}

Result<Cached> cached_of(const Problem& p, const BindArgs& args) {
  Cached made;
  WOOTZ_ASSIGN_OR_RETURN(made.parts, cached_attention_parts(p));
  WOOTZ_ASSIGN_OR_RETURN(made.inputs, cached_attention_inputs(p, args.inputs));
  const Problem& attention = made.parts.attention;
  const auto& params = attention.as<AttentionParams>();
  if (params.k_transposed || !params.k_view.empty() || !params.v_view.empty())
    return unsupported("caches in which heads lie side by side");
  for (const TensorDesc& t : p.outputs)
    if (t.layout != Layout::kLinear) return unsupported("layout {}", layout_name(t.layout));
  WOOTZ_ASSIGN_OR_RETURN(made.shape, attention_shape(attention, {made.inputs, args.outputs.first(1), {}}));
  const AttentionShape& a = made.shape;
  if (dtype_bits(attention.inputs[0].dtype) != 16 || dtype_bits(p.outputs[0].dtype) < 16)
    return unsupported("cached attention of {}", dtype_name(attention.inputs[0].dtype));
  if (a.size != a.v_size || (a.size != 32 && a.size != 64 && a.size != 128))
    return unsupported("cached heads of {} and {}", a.size, a.v_size);
  if (a.q.column != 1) return unsupported("queries whose elements do not lie together");
  WOOTZ_RETURN_IF_ERROR(find_parts(p, args, &made));
  return made;
}

void add_part(std::string_view name, std::string_view type, const Part& part, int shift, KernelSource* source) {
  source->type(type, storage_type(part.type));
  source->operand(fmt::format("const {}*", type), name, {false, shift + part.operand});
  source->number(fmt::format("{}_batch", name), part.batch);
  source->number(fmt::format("{}_head", name), part.head);
  source->number(fmt::format("{}_row", name), part.row);
}

// Operands of the attention as it numbers them, and behind them the parts.
PartPlaces places_of(const Cached& cached) {
  PartPlaces places;
  const auto count = static_cast<int>(cached.parts.attention.inputs.size());
  for (int i = 0; i < count; ++i)  // keys and values are read by their parts
    places.inputs.push_back({false, i == 0 ? 4 : i < 3 ? cached.keys[0].operand : i + 2});
  for (int i = 0; i < 4; ++i) places.inputs.push_back({false, i});
  for (int o = 0; o < 3; ++o) places.outputs.push_back({true, o});
  return places;
}

}  // namespace

Status generate_cached_attention(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const Cached cached, cached_of(p, args));
  const AttentionShape& a = cached.shape;
  const bool kept = p.outputs.size() > 1;
  const int64_t blocks = a.batch * a.heads * cached.row_blocks();
  if (blocks == 0 || (a.whole.volume() == 0 && !kept)) return Status();
  if (blocks >= (int64_t{1} << 31)) return unsupported("{} blocks", blocks);
  const Problem& attention = cached.parts.attention;
  const size_t before = launches->size();
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, attention_source("attention/cached.cuh", attention,
                                                               {cached.inputs, args.outputs.first(1), {}}, a));
  source.fixed("kThreads", kThreads);
  source.fixed("kRows", cached.rows());
  source.fixed("kTile", cached.tile());
  source.fixed("kKept", kept);
  source.fixed("kCluster", 1);
  source.fixed("kSharedBytes", cached.shared());
  const auto shift = static_cast<int>(attention.inputs.size());
  add_part("key_past", "KeyPast", cached.keys[0], shift, &source);
  add_part("key_own", "KeyOwn", cached.keys[1], shift, &source);
  add_part("value_past", "ValuePast", cached.values[0], shift, &source);
  add_part("value_own", "ValueOwn", cached.values[1], shift, &source);
  if (kept) {
    source.operand("X* __restrict__", "keys", {true, cached.keys_first ? 1 : 2});
    source.operand("X* __restrict__", "values", {true, cached.keys_first ? 2 : 1});
  }
  for (const char* name : {"keys", "values"})
    source.code(fmt::format("W_FN X* made_{}(const Operands& p) {{ return {}; }}\n", name,
                            kept ? fmt::format("p.{}", name) : "nullptr"));
  source.number("row_blocks", cached.row_blocks());
  source.number("past", cached.keys[0].rows);
  source.number("kv_heads", a.kv_heads);
  LaunchSize size;
  size.grid_x = static_cast<unsigned>(blocks);
  size.block = static_cast<unsigned>(kThreads);
  size.shared = static_cast<unsigned>(cached.shared());
  size.beside = true;
  WOOTZ_RETURN_IF_ERROR(source.finish(size, launches));
  place_part(places_of(cached), before, launches);
  return Status();
}

// On an H200: what a start takes, and a tile of keys after the other. 0: attention by itself shares keys among blocks.
double estimate_cached_attention(const Problem& p) {
  constexpr double kStartUs = 1.4, kTileUs = 0.9;
  const std::vector<Dims> in = operand_dims(p.inputs), out = operand_dims(p.outputs);
  const Result<Cached> cached = cached_of(p, {in, out, {}});
  if (!cached.ok() || cached->shape.rows > kMostRows || cached->shape.keys > kMostKeys) return 0;
  return kStartUs + kTileUs * static_cast<double>(cached->tiles());
}

}  // namespace wootz::cuda
