// Family squeeze_excite: a cluster of blocks for each image, gemm/squeeze_excite.cuh.
#include <algorithm>

#include "backends/cuda/generate/expression.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/gated.h"
#include "backends/cuda/generate/kernel_source.h"
#include "backends/cuda/support/int8_weights.h"

namespace wootz::cuda {
namespace {

constexpr int64_t kThreads = 512, kMostBatch = 12;
constexpr int64_t kMultiprocessors = 132, kMostCluster = 16, kShared = 227 << 10;
// Bytes whose sum a float holds exactly, and products of two bytes.
constexpr int64_t kMostPixels = 65536, kMostSummed = 512;

// Operands by their places among the problem's.
struct Gate {
  int b1 = -1, w2 = 2, b2 = -1;
  int64_t images = 0, channels = 0, pixels = 1, hidden = 0, results = 0;
};

Status check_matrix(const Dims& w, int64_t rows, int64_t columns) {
  bool one = w.rank() >= 2 && w[0] == rows && w[1] == columns;
  for (size_t a = 2; a < w.size(); ++a) one = one && w[a] == 1;
  return one ? Status() : invalid_argument("a matrix of {}, not {} by {}", w.to_string(), rows, columns);
}

Result<Gate> gate_of(const Problem& p, const BindArgs& args) {
  const SqueezeExciteParams& params = p.as<SqueezeExciteParams>();
  Gate g;
  if (params.has_b1) g.b1 = g.w2++;
  if (params.has_b2) g.b2 = g.w2 + 1;
  const int count = g.w2 + (params.has_b2 ? 2 : 1);
  if (p.num_main != count || p.inputs.size() != static_cast<size_t>(count) || p.outputs.size() != 1)
    return invalid_argument("a squeeze-and-excitation of {} operands", p.inputs.size());
  const Dims &x = args.inputs[0], &y = args.outputs[0], &w1 = args.inputs[1];
  if (x.rank() < 3 || y.rank() != x.rank() || y[0] != x[0] || w1.rank() < 2)
    return invalid_argument("{} by {} gives {}", x.to_string(), w1.to_string(), y.to_string());
  for (size_t a = 2; a < y.size(); ++a)
    if (y[a] != 1) return invalid_argument("more than a pixel");
  g.images = x[0];
  g.channels = x[1];
  g.pixels = volume_of(x, 2, x.size());
  g.hidden = w1[0];
  g.results = y[1];
  WOOTZ_RETURN_IF_ERROR(check_matrix(w1, g.hidden, g.channels));
  WOOTZ_RETURN_IF_ERROR(check_matrix(args.inputs[static_cast<size_t>(g.w2)], g.results, g.hidden));
  for (const auto& [bias, values] : {std::pair(g.b1, g.hidden), std::pair(g.b2, g.results)})
    if (bias >= 0 && args.inputs[static_cast<size_t>(bias)].volume() != values)
      return invalid_argument("a bias of {} for {}", args.inputs[static_cast<size_t>(bias)].to_string(), values);
  return g;
}

bool is_scaled(const Problem& p) { return !p.as<SqueezeExciteParams>().x_scale.empty(); }

// Of a value in between, which reads nothing else: none, or one result of this type.
Status check_expression(const PointwiseExpr& e, DType made) {
  if (e.empty()) return Status();
  WOOTZ_RETURN_IF_ERROR(e.verify());
  if (e.num_inputs > 1 || e.outputs.size() != 1 || e.output_type() != made)
    return unsupported("another expression on hidden values");
  return Status();
}

// Grids without zero points, whose sums floats hold.
Status check_grids(const Problem& p, const Gate& g) {
  const SqueezeExciteParams& params = p.as<SqueezeExciteParams>();
  const auto zero = [](double z) { return z == 0; };
  if (params.x_scale.size() != 3 || !std::all_of(params.x_zero.begin(), params.x_zero.end(), zero))
    return unsupported("{} scales, or zero points", params.x_scale.size());
  if (params.mean.empty() || params.hidden.empty()) return unsupported("values in between that are not quantized");
  if (!is_int8(params.mean.output_type()) || !is_int8(params.hidden.output_type()))
    return unsupported("values in between of {}", dtype_name(params.hidden.output_type()));
  for (const auto& [scales, count] : {std::pair(&params.w1_scale, g.hidden), std::pair(&params.w2_scale, g.results)})
    if (scales->size() != 1 && static_cast<int64_t>(scales->size()) != count)
      return invalid_argument("{} scales for {} columns", scales->size(), count);
  for (const int bias : {g.b1, g.b2})
    if (bias >= 0 && p.inputs[static_cast<size_t>(bias)].dtype != DType::kF32) return unsupported("a bias in 16 bits");
  if (g.pixels >= kMostPixels || g.hidden > kMostSummed)
    return unsupported("sums of {} pixels or {} hidden values", g.pixels, g.hidden);
  return Status();
}

Status check_types(const Problem& p, const Gate& g) {
  const bool scaled = is_scaled(p);
  const DType type = p.inputs[0].dtype, w = scaled ? DType::kI8 : type;
  if (!(scaled ? is_int8(type) : is_model_float(type)) || p.inputs[1].dtype != w ||
      p.inputs[static_cast<size_t>(g.w2)].dtype != w)
    return unsupported("{} by {}", dtype_name(type), dtype_name(p.inputs[1].dtype));
  if (scaled) WOOTZ_RETURN_IF_ERROR(check_grids(p, g));
  for (const int bias : {g.b1, g.b2})
    if (bias >= 0) WOOTZ_RETURN_IF_ERROR(check_type(p.inputs[static_cast<size_t>(bias)].dtype));
  if (!is_plain(p.inputs[0].layout) || !is_plain(p.outputs[0].layout))
    return unsupported("layout {}", layout_name(p.inputs[0].layout));
  for (size_t i = 1; i < p.inputs.size(); ++i)
    if (p.inputs[i].layout != Layout::kLinear && !(scaled && p.inputs[i].constant))  // packed
      return unsupported("weights in a layout of their own");
  const SqueezeExciteParams& params = p.as<SqueezeExciteParams>();
  WOOTZ_RETURN_IF_ERROR(check_expression(params.hidden, scaled ? params.hidden.output_type() : type));
  if (scaled) WOOTZ_RETURN_IF_ERROR(check_expression(params.mean, params.mean.output_type()));
  if (p.epilogue.num_inputs > 1) return unsupported("an epilogue with operands");
  return check_epilogue(p, scaled ? DType::kF32 : type);
}

// The scales of a product's columns: the first's, of the mean, or the second's, of hidden values.
GemmScales scales_of(const Problem& p, bool second) {
  const SqueezeExciteParams& params = p.as<SqueezeExciteParams>();
  GemmScales s;
  s.given = true;
  s.x = params.x_scale[second ? 2 : 1];
  s.w = second ? params.w2_scale : params.w1_scale;
  return s;
}

// How a cluster divides the work.
struct Division {
  int64_t vector = 8, packs = 0, groups = 1, own = 0, results = 0, hidden_vector = 1;
  int64_t share = 0, down = 1, batch = 1;  // rows of a block; read at once; that a thread has under way at once
  int64_t shared = 0;
};

Result<Division> divide(const Gate& g, DType type, bool scaled, const Summed& summed, int64_t cluster) {
  const auto size = static_cast<int64_t>(dtype_bytes(type, 1));
  Division d;
  d.vector = 16 / size;
  if (g.channels % d.vector != 0 || g.results % d.vector != 0 || g.channels == 0 || g.hidden == 0 || g.pixels == 0)
    return unsupported("{} channels, {} hidden values and {} results", g.channels, g.hidden, g.results);
  const auto parts = [](int64_t count, int64_t of) { return (count + of - 1) / of; };
  d.packs = g.channels / d.vector;
  d.groups = cluster;
  const auto pack = static_cast<int64_t>(dtype_bytes(summed.type, d.vector));
  const int64_t at_once = std::min<int64_t>(16, pack);  // bytes that a thread reads
  // 64 bytes and more make good reads; but of a part of the rows no mean can be quantized.
  while (!scaled && d.groups > 1 && parts(d.packs, d.groups) * pack < 64) d.groups /= 2;
  d.own = parts(d.packs, d.groups);
  d.results = parts(g.results / d.vector, cluster) * d.vector;
  while (d.hidden_vector < d.vector && g.hidden % (d.hidden_vector * 2) == 0) d.hidden_vector *= 2;
  const int64_t across = d.own * pack / at_once;
  if (across > kThreads || g.hidden > kThreads * 16) return unsupported("{} channels of a block", d.own * d.vector);
  d.share = parts(summed.rows, cluster / d.groups);
  d.down = kThreads / across;
  // Of few rows a thread reads as many as it may at once, so that little is left to be joined.
  if (summed.type == DType::kF32 && type != summed.type) d.down = std::min(d.down, parts(d.share, kMostBatch));
  const int64_t rows = parts(d.share, d.down);
  d.batch = parts(rows, parts(rows, kMostBatch));
  const auto by_sixteen = [](int64_t bytes) { return (bytes + 15) / 16 * 16; };
  const int64_t columns = d.own * d.vector, pitch = (columns + 23) / 32 * 32 + 8;
  d.shared = by_sixteen(g.hidden * columns * size) + by_sixteen(d.results * g.hidden * size) + d.down * pitch * 4 +
             by_sixteen(columns * 4) + by_sixteen(cluster * g.hidden * 4) + 2 * by_sixteen(g.hidden * 4) +
             by_sixteen(d.results * 4) + 16 + (scaled ? by_sixteen(g.hidden * 4) + by_sixteen(d.results * 4) : 0);
  if (scaled && columns > kMostSummed) return unsupported("{} channels of a block", columns);
  if (d.shared > kShared) return unsupported("{} bytes of weights and sums in a block", d.shared);
  return d;
}

// <stored> name(s): the expression.
Status add_expression(const char* name, const PointwiseExpr& expr, DType stored, KernelSource* source) {
  WOOTZ_ASSIGN_OR_RETURN(const ExpressionText text, expression_text(expr, {"s"}));
  source->code(fmt::format("W_FN {0} {1}(float s) {{\n{2}  return Put<{0}>::to({3});\n}}\n", storage_type(stored), name,
                           text.lines, text.results[0]));
  return Status();
}

// float name(p, i): the scale of a product's column, behind its weights.
void add_scales(bool scaled, const char* name, const char* weights, int64_t count, KernelSource* source) {
  if (scaled)
    source->code(
        fmt::format("W_FN float {}(const Operands& p, int i) {{ return ((const float*)((const u8*)p.{} + {}))"
                    "[i]; }}\n",
                    name, weights, scales_begin(2 * count)));
  else
    source->code(fmt::format("W_FN float {}(const Operands&, int) {{ return 1; }}\n", name));
}

// float name(p, i): the operand's, or none.
void add_bias(const Problem& p, const char* name, int input, KernelSource* source) {
  if (input >= 0)
    source->operand(fmt::format("const {}*", storage_type(p.inputs[static_cast<size_t>(input)].dtype)),
                    fmt::format("of_{}", name), {false, input});
  source->code(fmt::format("W_FN float {0}(const Operands& p, int i) {{ return {1}; }}\n", name,
                           input < 0 ? "0" : fmt::format("(float)w_get(p.of_{}[i])", name)));
}

void add_numbers(const Gate& g, const Division& d, const Summed& summed, int cluster, KernelSource* source) {
  for (const auto& [name, value] : {std::pair<const char*, int64_t>{"kThreads", kThreads},
                                    {"kVector", d.vector},
                                    {"kCluster", cluster},
                                    {"kGroups", d.groups},
                                    {"kOwn", d.own},
                                    {"kDown", d.down},
                                    {"kBatch", d.batch},
                                    {"kHidden", g.hidden},
                                    {"kHiddenVector", d.hidden_vector},
                                    {"kResults", d.results},
                                    {"kSharedBytes", d.shared}})
    source->fixed(name, value);
  source->number("packs", d.packs);
  source->number("length", summed.rows);
  source->number("pixels", g.pixels);
  source->number("most", d.share);
  source->number("results", g.results);
}

// Packed weights of a plan's are as long as the kernel believes.
Status check_bytes(const Problem& p, const Gate& g, const BindArgs& args) {
  if (!is_scaled(p)) return Status();
  for (const auto& [input, columns] : {std::pair(1, g.hidden), std::pair(g.w2, g.results)}) {
    const auto i = static_cast<size_t>(input);
    if (args.constant_bytes.size() > i && args.constants[i] != nullptr &&
        args.constant_bytes[i] < scales_end(2 * args.inputs[i].volume(), columns))
      return invalid_argument("{} bytes of packed weights for {}", args.constant_bytes[i], args.inputs[i].to_string());
  }
  return Status();
}

}  // namespace

// Of 8 bits: weights in FP16, which become floats at less than bytes do, with a scale for each column after them.
Result<std::optional<PackedForm>> pack_squeeze_excite(const Problem& p, int input, const HostTensor& source) {
  const int second = p.as<SqueezeExciteParams>().has_b1 ? 3 : 2;
  if (!is_scaled(p) || (input != 1 && input != second) || source.rank() == 0) return std::optional<PackedForm>{};
  const SqueezeExciteParams& params = p.as<SqueezeExciteParams>();
  const int64_t columns = source.dims()[0];
  const Floats& own = input == 1 ? params.w1_scale : params.w2_scale;
  if (params.x_scale.size() != 3 || (own.size() != 1 && static_cast<int64_t>(own.size()) != columns))
    return invalid_argument("{} scales for {} columns", own.size(), columns);
  return std::optional(packed_by(
      scales_end(2 * source.volume(), columns),
      [scales = scales_of(p, input != 1), source, columns]() -> Result<std::vector<std::byte>> {
        const std::span bytes(static_cast<const std::byte*>(source.data()), static_cast<size_t>(source.volume()));
        return with_scales(as_halves(bytes), scales, columns);
      }));
}

Status generate_squeeze_excite(const Problem& p, const BindArgs& args, int cluster, std::vector<Launch>* launches) {
  if (p.inputs.empty() || args.inputs.empty() || args.inputs[0].rank() < 3)
    return invalid_argument("a squeeze-and-excitation of no image");
  const Dims& x = args.inputs[0];
  return generate_gate(p, args, {p.inputs[0].dtype, volume_of(x, 2, x.size())}, cluster, launches);
}

Status generate_gate(const Problem& p, const BindArgs& args, const Summed& summed, int cluster,
                     std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const Gate g, gate_of(p, args));
  WOOTZ_RETURN_IF_ERROR(check_types(p, g));
  if (p.inputs[0].layout != Layout::kChannelsLast) return unsupported("layout {}", layout_name(p.inputs[0].layout));
  const bool scaled = is_scaled(p);
  const DType type = scaled ? DType::kF16 : p.inputs[0].dtype;
  WOOTZ_RETURN_IF_ERROR(check_bytes(p, g, args));
  WOOTZ_ASSIGN_OR_RETURN(const Division d, divide(g, type, scaled, summed, cluster));
  if (g.images * kMostCluster > kMultiprocessors) return unsupported("{} images", g.images);
  if (args.outputs[0].volume() == 0) return Status();
  KernelSource source("gemm/squeeze_excite.cuh", transient(p, args));
  source.type("X", storage_type(type));
  source.type("S", storage_type(summed.type));
  source.type("Part", scaled ? "int" : "float");
  add_numbers(g, d, summed, cluster, &source);
  source.fixed("kScaled", scaled);
  source.fixed_real("kScale", scaled ? double{p.as<SqueezeExciteParams>().x_scale[0]} : 1);
  source.operand(fmt::format("{}* __restrict__", storage_type(p.outputs[0].dtype)), "y", {true, 0});
  source.operand("const S*", "x", {false, 0});
  for (const auto& [name, input] : {std::pair("w1", 1), std::pair("w2", g.w2)})
    source.operand("const X*", name, {false, input});
  add_bias(p, "first_bias", g.b1, &source);
  add_bias(p, "second_bias", g.b2, &source);
  add_scales(scaled, "first_scale", "w1", args.inputs[1].volume(), &source);
  add_scales(scaled, "second_scale", "w2", args.inputs[static_cast<size_t>(g.w2)].volume(), &source);
  const SqueezeExciteParams& params = p.as<SqueezeExciteParams>();
  const DType mean = scaled ? params.mean.output_type() : DType::kF32;
  WOOTZ_RETURN_IF_ERROR(add_expression("quantized_mean", params.mean, mean, &source));
  WOOTZ_RETURN_IF_ERROR(add_expression("hidden", params.hidden, scaled ? params.hidden.output_type() : type, &source));
  WOOTZ_RETURN_IF_ERROR(add_expression("result", p.epilogue, p.outputs[0].dtype, &source));
  LaunchSize size;
  size.block = kThreads;
  size.at_once = 1;  // reads under way are worth more than blocks that share a multiprocessor
  size.shared = static_cast<unsigned>(d.shared);
  size.grid_z = static_cast<unsigned>(g.images * cluster);
  size.cluster = static_cast<unsigned>(cluster);
  return source.finish(size, launches);
}

namespace {

// Where a launch of a part reads and writes: `inputs` and `output` are the part's operands, its own scratch memory
// begins at `scratch`.
Status add_part(const Problem& part, Generate generate, const std::vector<Pointer>& inputs, Pointer output,
                size_t scratch, std::vector<Launch>* launches) {
  std::vector<Dims> in, out;
  for (const TensorDesc& t : part.inputs) in.push_back(t.dims);
  for (const TensorDesc& t : part.outputs) out.push_back(t.dims);
  const size_t before = launches->size();
  WOOTZ_RETURN_IF_ERROR(generate(part, {in, out, {}}, launches));
  place_part({inputs, {output}, scratch}, before, launches);
  return Status();
}

// A problem over one operand of these extents, channels last, with one result.
Problem part_of(const Problem& p, FamilyParams params, const Dims& x, const Dims& y, const TensorDesc& like) {
  Problem part;
  part.params = std::move(params);
  part.num_main = 1;
  part.inputs = {{.dtype = p.inputs[0].dtype, .layout = p.inputs[0].layout, .dims = x, .max_dims = x}};
  part.outputs = {{.dtype = like.dtype, .layout = p.inputs[0].layout, .dims = y, .max_dims = y}};
  part.acc_dtype = p.inputs[0].dtype;
  return part;
}

}  // namespace

Status generate_squeeze_excite_apart(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const Gate g, gate_of(p, args));
  WOOTZ_RETURN_IF_ERROR(check_types(p, g));
  if (g.images * kMostCluster > kMultiprocessors) return unsupported("{} images", g.images);
  if (p.passing || is_scaled(p)) return unsupported("extents that are found by running, or 8 bits");
  if (args.outputs[0].volume() == 0) return Status();
  const Dims &x = args.inputs[0], &y = args.outputs[0];
  Dims middle = y, hidden = y;
  middle[1] = g.channels;
  hidden[1] = g.hidden;
  const auto bytes = [&](const Dims& dims) {
    return (dtype_bytes(p.inputs[0].dtype, dims.volume()) + 255) / 256 * 256;
  };
  const Pointer of_mean{false, -1, 0}, of_hidden{false, -1, bytes(middle)};
  const size_t scratch = bytes(middle) + bytes(hidden);
  Ints spatial;
  for (int axis = 2; axis < x.rank(); ++axis) spatial.push_back(axis);
  const Problem mean = part_of(p, ReduceParams{.kind = ReduceKind::kMean, .axes = spatial}, x, middle, p.inputs[0]);
  WOOTZ_RETURN_IF_ERROR(add_part(mean, generate_reduce, {{false, 0}}, of_mean, scratch, launches));
  const auto product = [&](const Dims& from, const Dims& to, const TensorDesc& like, int w, int bias) {
    Problem part = part_of(p, ConvParams{.has_bias = bias >= 0}, from, to, like);
    for (const int i : {w, bias})
      if (i >= 0) part.inputs.push_back(p.inputs[static_cast<size_t>(i)]);
    for (size_t i = 1; i < part.inputs.size(); ++i)
      part.inputs[i].dims = args.inputs[static_cast<size_t>(i == 1 ? w : bias)];
    part.num_main = static_cast<int>(part.inputs.size());
    return part;
  };
  Problem first = product(middle, hidden, p.inputs[0], 1, g.b1);
  first.epilogue = p.as<SqueezeExciteParams>().hidden;
  WOOTZ_RETURN_IF_ERROR(
      add_part(first, generate_vector_product, {of_mean, {false, 1}, {false, g.b1}}, of_hidden, scratch, launches));
  Problem second = product(hidden, y, p.outputs[0], g.w2, g.b2);
  second.epilogue = p.epilogue;
  return add_part(second, generate_vector_product, {of_hidden, {false, g.w2}, {false, g.b2}}, {true, 0}, scratch,
                  launches);
}

// Measured on an H200, without timings the one thing to go by. What the blocks of a cluster read of an image comes at a
// block's speed: of large images the mean is faster by all multiprocessors, in a launch of its own.
double estimate_squeeze_excite(const Problem& p, int cluster) {
  const Dims& x = p.inputs[0].dims;
  const double bytes = static_cast<double>(dtype_bytes(p.inputs[0].dtype, x.volume()));
  if (cluster == 0) return 3.8 + bytes / 1.6e6;
  const double images = std::max(1.0, static_cast<double>(x[0]));
  // Not every GPU has room for the larger cluster, which is for those who measure.
  return (cluster > 8 ? 3.2 : 3.0) + bytes / images / (65e3 * std::min(cluster, 8));
}

}  // namespace wootz::cuda
