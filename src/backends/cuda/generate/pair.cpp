// Family chain of a convolution and the one of single pixels that alone reads it, and of another one that reads the
// result, which others read too; of 16-bit floats: conv/pair.cuh.
#include <algorithm>

#include "backend/chain.h"
#include "backend/operand_dims.h"
#include "backend/quantized.h"
#include "backends/cuda/generate/expression.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/kernel_source.h"
#include "backends/cuda/generate/tile.h"
#include "backends/cuda/generate/walkers.h"
#include "backends/cuda/generate/window.h"

namespace wootz::cuda {
namespace {

constexpr int64_t kMultiprocessors = 132, kSide = 8, kTeam = 128;

struct Pair {
  Problem first, second, third;
  int w = 1, v = 1;  // operands of the step: weights of both
  int further = -1;  // another image, whose pixels the second product goes on over; -1: none
  int next = -1;     // weights of the third product; -1: there is none
  int64_t channels = 0, middle = 0, further_channels = 0, columns = 0, next_columns = 0, taps_h = 1, taps_w = 1,
          top = 0, left = 0;
  int64_t teams = 1, buffers = 2;
  int64_t first_bytes() const { return taps_h * taps_w * channels * middle * 2; }
  int64_t second_bytes() const { return (middle + further_channels) * columns * 2; }
  int64_t next_bytes() const { return columns * next_columns * 2; }
  int64_t weight_bytes() const { return first_bytes() + second_bytes() + next_bytes(); }
  int64_t patch_bytes() const {
    const int64_t pixels = (kSide + taps_h - 1) * (kSide + taps_w - 1);
    return channels / 8 * (pixels | 1) * 16;
  }
  int64_t shared() const { return weight_bytes() + teams * buffers * patch_bytes(); }
};

// A convolution by constants, whose windows have no gaps and begin at every pixel.
Status check_convolution(const Problem& p, DType type) {
  const auto* const conv = p.as_if<ConvParams>();
  if (conv == nullptr) return unsupported("another chain than one of two convolutions");
  if (p.inputs.size() < 2 || p.inputs[0].dtype != type || p.inputs[1].dtype != type || !p.inputs[1].constant)
    return unsupported("convolutions of other types, or whose weights are not constant");
  if (conv->transposed || conv->groups != 1 || !conv->x_scale.empty() || p.inputs[1].dims.rank() != 4)
    return unsupported("another convolution than one of images");
  WOOTZ_RETURN_IF_ERROR(check_values(conv->strides, 2, 1));
  WOOTZ_RETURN_IF_ERROR(check_values(conv->dilations, 2, 1));
  WOOTZ_RETURN_IF_ERROR(check_values(conv->pads, 4, 0));
  if (conv->strides != Ints{1, 1} || conv->dilations != Ints{1, 1}) return unsupported("windows at other steps than 1");
  return Status();
}

// Single pixels, without padding.
bool is_of_pixels(const Problem& p) {
  const Dims& w = p.inputs[1].dims;
  const Ints& pads = p.as<ConvParams>().pads;
  return w[2] == 1 && w[3] == 1 && std::all_of(pads.begin(), pads.end(), [](int64_t pad) { return pad == 0; });
}

// Whose expression reads the sums alone.
Status check_alone(const Problem& p, DType type) {
  if (p.inputs.size() != static_cast<size_t>(p.num_main) || p.epilogue.num_inputs > 1)
    return unsupported("an expression that reads more than the sums");
  return check_epilogue(p, type);
}

// As many teams as shared memory has room for, rather than two patches of each. More than three have too few registers.
Status choose_teams(Pair* pair) {
  constexpr int64_t kShared = 227 << 10;
  for (pair->teams = 3; pair->teams > 0; --pair->teams)
    for (pair->buffers = 2; pair->buffers > 0; --pair->buffers)
      if (pair->shared() <= kShared) return Status();
  return unsupported("weights of {} KB", pair->weight_bytes() >> 10);
}

// Where the second convolution reads a concatenation of what is in between and another image: the two apart.
Status take_further(const Problem& p, ChainParts* parts, Pair* pair) {
  if (!parts->second.is(Family::kChain)) return Status();
  WOOTZ_ASSIGN_OR_RETURN(ChainParts inner, chain_parts(parts->second));
  const Problem& concat = inner.first;
  if (!concatenates_channels(concat) || concat.inputs.size() != 2 || concat.inputs[1].constant ||
      concat.inputs[1].dtype != p.inputs[0].dtype || concat.inputs[1].dims.rank() != 4)
    return unsupported("a second convolution of another chain than what is in between and an image");
  pair->further = static_cast<int>(parts->first.inputs.size());
  parts->second = std::move(inner.second);
  return Status();
}

Result<Pair> two_of(const Problem& p) {
  WOOTZ_ASSIGN_OR_RETURN(ChainParts parts, chain_parts(p));
  Pair pair;
  const DType type = p.inputs[0].dtype;
  if (type != DType::kF16 && type != DType::kBF16)
    return unsupported("{} on tensor cores of 16-bit floats", dtype_name(type));
  WOOTZ_RETURN_IF_ERROR(take_further(p, &parts, &pair));
  for (const Problem* part : {&parts.first, &parts.second}) WOOTZ_RETURN_IF_ERROR(check_convolution(*part, type));
  const Dims &w = parts.first.inputs[1].dims, &v = parts.second.inputs[1].dims;
  if (!is_of_pixels(parts.second)) return unsupported("a second convolution of more than single pixels");
  const int64_t further = v[1] - w[0];
  if (w[1] % 16 != 0 || w[0] % 32 != 0 || v[0] % 32 != 0 || w[0] > 192 || v[0] > 512 || w[2] > 5 || w[3] > 5 ||
      (pair.further < 0 ? further != 0 : further < 32 || further % 32 != 0 || further > 128))
    return unsupported("{} and {}; few channels are taken", w.to_string(), v.to_string());
  WOOTZ_RETURN_IF_ERROR(check_alone(parts.first, type));
  const auto& first_pads = parts.first.as<ConvParams>().pads;
  pair.channels = w[1];
  pair.middle = w[0];
  pair.further_channels = further;
  pair.columns = v[0];
  pair.taps_h = w[2];
  pair.taps_w = w[3];
  pair.top = first_pads[0];
  pair.left = first_pads[1];
  pair.v = std::max(static_cast<int>(parts.first.inputs.size()), pair.further + 1);
  pair.first = std::move(parts.first);
  pair.second = std::move(parts.second);
  pair.second.inputs[0].layout = Layout::kChannelsLast;
  return pair;
}

// By the parameters and the weights alone.
Result<Pair> pair_of(const Problem& p) {
  if (!p.is(Family::kChain) || p.outputs.empty() || p.outputs.size() > 2)
    return unsupported("another problem than two convolutions");
  if (p.outputs.size() == 1) {
    WOOTZ_ASSIGN_OR_RETURN(Pair pair, two_of(p));
    WOOTZ_RETURN_IF_ERROR(choose_teams(&pair));
    return pair;
  }
  WOOTZ_ASSIGN_OR_RETURN(ChainParts parts, chain_parts(p));
  if (!parts.first.is(Family::kChain)) return unsupported("a result in between");
  WOOTZ_ASSIGN_OR_RETURN(Pair pair, two_of(parts.first));
  const DType type = p.inputs[0].dtype;
  WOOTZ_RETURN_IF_ERROR(check_convolution(parts.second, type));
  WOOTZ_RETURN_IF_ERROR(check_alone(parts.second, type));
  const Dims& u = parts.second.inputs[1].dims;
  if (!is_of_pixels(parts.second) || u[1] != pair.columns || u[0] % 32 != 0 || u[0] > 128 || u[0] == 0)
    return unsupported("{} as a third convolution", u.to_string());
  if (p.outputs[0].dtype != type || p.outputs[1].dtype != type)
    return unsupported("results of {} and {}", dtype_name(p.outputs[0].dtype), dtype_name(p.outputs[1].dtype));
  pair.second.outputs = {p.outputs[1]};
  pair.next = static_cast<int>(parts.first.inputs.size());
  pair.next_columns = u[0];
  pair.third = std::move(parts.second);
  WOOTZ_RETURN_IF_ERROR(choose_teams(&pair));
  return pair;
}

// Extents and layouts, and what a plan brings.
Status check_operands(const Problem& p, const BindArgs& args, const Pair& pair, const Dims& between) {
  const Dims &x = args.inputs[0], &z = args.outputs.back();
  const auto is_image = [](const TensorDesc& t) { return t.layout == Layout::kChannelsLast; };
  if (!is_image(p.inputs[0]) || !std::all_of(p.outputs.begin(), p.outputs.end(), is_image))
    return unsupported("other than channels innermost");
  if (x.rank() != 4 || z.rank() != 4 || x[1] != pair.channels || z[0] != between[0] || z[1] != pair.columns ||
      z[2] != between[2] || z[3] != between[3])
    return invalid_argument("convolutions of {} by way of {} give {}", x.to_string(), between.to_string(),
                            z.to_string());
  if (pair.further >= 0) {
    const auto at = static_cast<size_t>(pair.further);
    const Dims &own = args.inputs[at], read{z[0], pair.further_channels, z[2], z[3]};
    if (!is_image(p.inputs[at])) return unsupported("other than channels innermost");
    if (!(own == read)) return invalid_argument("{} beside {}", own.to_string(), between.to_string());
    if (own.volume() >= int64_t{1} << 31) return unsupported("{}", own.to_string());
  }
  if (x.volume() >= int64_t{1} << 31 || z.volume() >= int64_t{1} << 31 || args.outputs[0].volume() >= int64_t{1} << 31)
    return unsupported("{} gives {}", x.to_string(), z.to_string());
  if (pair.next >= 0 && !(args.outputs[0] == Dims{z[0], pair.next_columns, z[2], z[3]}))
    return invalid_argument("{} of {}", args.outputs[0].to_string(), z.to_string());
  for (const auto& [operand, bytes] :
       {std::pair(pair.w, pair.first_bytes()), {pair.v, pair.second_bytes()}, {pair.next, pair.next_bytes()}}) {
    const auto at = static_cast<size_t>(operand);
    if (operand >= 0 && args.constant_bytes.size() > at && args.constants[at] != nullptr &&
        args.constant_bytes[at] < static_cast<size_t>(bytes))
      return invalid_argument("{} bytes of packed weights for {}", args.constant_bytes[at],
                              args.inputs[at].to_string());
  }
  const auto right_bias = [&](const Problem& part, int w, int64_t columns) {
    return part.num_main < 3 || args.inputs[static_cast<size_t>(w) + 1].volume() == columns;
  };
  if (pair.first.num_main > 3 || pair.second.num_main > 3 || !right_bias(pair.first, pair.w, pair.middle) ||
      !right_bias(pair.second, pair.v, pair.columns) ||
      (pair.next >= 0 && (pair.third.num_main > 3 || !right_bias(pair.third, pair.next, pair.next_columns))))
    return invalid_argument("biases for other than {}, {} and {} channels", pair.middle, pair.columns,
                            pair.next_columns);
  return Status();
}

// Columns by `at_once`, of those each 16 places of a sum, of those eight columns at a time: 16 bytes of each, then
// their other 16. With `spread` a thread's sums, two of each eight columns, are eight neighbours. From place
// `spread_at` of a sum on the same is so of what it multiplies: a thread's halves of 32 places are eight neighbours.
std::vector<std::byte> by_matrices(const HostTensor& weights, int64_t at_once, bool spread, int64_t spread_at) {
  const Dims& w = weights.dims();
  const int64_t columns = w[0], channels = w[1], taps = w[2] * w[3], steps = taps * channels / 16;
  const auto* const from = static_cast<const uint16_t*>(weights.data());
  std::vector<std::byte> bytes(static_cast<size_t>(weights.volume()) * 2);
  auto* to = reinterpret_cast<uint16_t*>(bytes.data());
  for (int64_t i = 0; i < columns * channels * taps; ++i) {
    const int64_t element = i % 8, in_part = i / 8 % 8, half = i / 64 % 2, part = i / 128 % (at_once / 8);
    const int64_t step = i / 16 / at_once % steps, first = i / 16 / at_once / steps * at_once;
    const int64_t own = spread ? part / 4 * 32 + in_part / 2 * 8 + part % 4 * 2 + in_part % 2 : part * 8 + in_part;
    const int64_t at = step * 16 + half * 8 + element;
    const int64_t place =
        at < spread_at ? at : at / 32 * 32 + element / 2 * 8 + (step % 2 * 2 + half) * 2 + element % 2;
    to[i] = from[((first + own) * channels + place % channels) * taps + place / channels];
  }
  return bytes;
}

int64_t at_once(int64_t columns) { return columns % 64 == 0 ? 64 : 32; }

// Lines that give the biases of so many columns from n on: operand `operand` of the step, by this name.
std::string bias_lines(const Problem& part, const char* name, int operand, int count, KernelSource* source) {
  if (part.num_main != 3) return "  return {};\n";
  const char* const type = storage_type(part.inputs[2].dtype);
  source->operand(fmt::format("const {}*", type), name, {false, operand});
  return fmt::format(
      "  const Pack<{0}, {1}> of = *(const Pack<{0}, {1}>*)(p.{2} + n);\n  Pack<float, {1}> bias;\n"
      "#pragma unroll\n  for (int i = 0; i < {1}; ++i) bias.v[i] = w_get(of.v[i]);\n  return bias;\n",
      type, count, name);
}

// bias_of(p, n) and middle_of(a): the expression and rounding of the first; the same of the third by names of its own.
Status write_sums(const Pair& pair, KernelSource* source) {
  struct Part {
    const Problem& problem;
    const char *bias, *made, *operand;
    int weights, count;
  };
  for (const Part& part : {Part{pair.first, "bias_of", "middle_of", "d", pair.w, 2},
                           Part{pair.third, "next_bias_of", "next_of", "next_d", pair.next, 8}}) {
    const std::string bias = bias_lines(part.problem, part.operand, part.weights + 1, part.count, source);
    WOOTZ_ASSIGN_OR_RETURN(const ExpressionText text, expression_text(part.problem.epilogue, {"a"}));
    source->code(
        fmt::format("W_FN Pack<float, {}> {}(const Operands& p, int n) {{\n{}}}\n"
                    "W_FN float {}(float a) {{\n{}  return {};\n}}\n",
                    part.count, part.bias, bias, part.made, text.lines, text.results[0]));
  }
  return Status();
}

// What is not in every problem: name_of(p), null where it is not.
void write_others(const Pair& pair, KernelSource* source) {
  struct Other {
    const char *type, *name;
    bool there, output;
    int operand;
  };
  for (const Other& other : {Other{"const W*", "further", pair.further >= 0, false, pair.further},
                             Other{"const W*", "next_weights", pair.next >= 0, false, pair.next},
                             Other{"Y*", "next_made", pair.next >= 0, true, 0}}) {
    if (other.there)
      source->operand(fmt::format("{}{}", other.type, other.output ? " __restrict__" : ""), other.name,
                      {other.output, other.operand});
    source->code(fmt::format("W_FN {} {}_of(const Operands& p) {{ return {}{}; }}\n", other.type, other.name,
                             other.there ? "p." : "", other.there ? other.name : "nullptr"));
  }
}

int64_t tiles_of(const Dims& z) { return z[0] * ((z[2] + kSide - 1) / kSide) * ((z[3] + kSide - 1) / kSide); }

void write_numbers(const Pair& pair, const Dims& x, const Dims& z, int64_t blocks, KernelSource* source) {
  const std::pair<const char*, int64_t> fixed[] = {{"kTeams", pair.teams},
                                                   {"kBuffers", pair.buffers},
                                                   {"kChannels", pair.channels},
                                                   {"kMiddle", pair.middle},
                                                   {"kFurther", pair.further_channels},
                                                   {"kColumns", pair.columns},
                                                   {"kNext", pair.next_columns},
                                                   {"kTapsH", pair.taps_h},
                                                   {"kTapsW", pair.taps_w}};
  for (const auto& [name, value] : fixed) source->fixed(name, value);
  add_float_sums({}, source);
  const std::pair<const char*, int64_t> numbers[] = {{"columns", pair.columns},
                                                     {"in_h", x[2]},
                                                     {"in_w", x[3]},
                                                     {"out_h", z[2]},
                                                     {"out_w", z[3]},
                                                     {"pad_top", pair.top},
                                                     {"pad_left", pair.left},
                                                     {"tiles_w", (z[3] + kSide - 1) / kSide},
                                                     {"tiles_h", (z[2] + kSide - 1) / kSide},
                                                     {"tiles", tiles_of(z)},
                                                     {"teams", blocks * pair.teams}};
  for (const auto& [name, value] : numbers) source->number(name, value);
}

}  // namespace

Result<std::optional<PackedForm>> pack_pair(const Problem& p, int input, const HostTensor& source) {
  WOOTZ_ASSIGN_OR_RETURN(const Pair pair, pair_of(p));
  struct Weights {
    int input;
    int64_t bytes, columns;
    bool spread;
    int64_t spread_at;
  };
  for (const Weights& w : {Weights{pair.w, pair.first_bytes(), pair.middle, false, source.volume()},
                           Weights{pair.v, pair.second_bytes(), pair.columns, true, pair.middle},
                           Weights{pair.next, pair.next_bytes(), pair.next_columns, true, 0}})
    if (input == w.input)
      return std::optional(packed_by(static_cast<size_t>(w.bytes), [source, w]() -> Result<std::vector<std::byte>> {
        return by_matrices(source, at_once(w.columns), w.spread, w.spread_at);
      }));
  return std::optional<PackedForm>{};
}

Status generate_pair(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const Pair pair, pair_of(p));
  WOOTZ_ASSIGN_OR_RETURN(const Dims between, chain_middle(pair.first, args.inputs));
  WOOTZ_RETURN_IF_ERROR(check_operands(p, args, pair, between));
  const Dims& z = args.outputs.back();
  if (z.volume() == 0) return Status();
  const int64_t blocks = std::min(walked_multiprocessors(), (tiles_of(z) + pair.teams - 1) / pair.teams);
  KernelSource source("conv/pair.cuh", true);
  source.type("X", storage_type(p.inputs[0].dtype));
  source.type("W", storage_type(p.inputs[0].dtype));
  source.type("Y", storage_type(p.outputs[0].dtype));
  source.type("Part", "float");
  write_numbers(pair, args.inputs[0], z, blocks, &source);
  source.operand("Y* __restrict__", "y", {true, static_cast<int>(p.outputs.size()) - 1});
  source.operand("const X*", "x", {false, 0});
  source.operand("const W*", "w", {false, pair.w});
  source.operand("const W*", "v", {false, pair.v});
  write_others(pair, &source);
  WOOTZ_RETURN_IF_ERROR(write_sums(pair, &source));
  std::vector<Dims> dims{between};
  const auto from = args.inputs.begin() + pair.v;
  dims.insert(dims.end(), from, from + static_cast<ptrdiff_t>(pair.second.inputs.size()) - 1);
  WOOTZ_RETURN_IF_ERROR(write_by_eight(pair.second, {dims, args.outputs.last(1), {}}, pair.columns,
                                       {.w = pair.v, .halves_ahead = true}, &source));
  LaunchSize size;
  size.grid_x = static_cast<unsigned>(blocks);
  size.block = static_cast<unsigned>(pair.teams * kTeam);
  size.shared = static_cast<unsigned>(pair.shared());
  size.at_once = 1;
  return source.finish(size, launches);
}

// A start with all weights, and a multiprocessor's tiles one after the other. Of 56 x 56 pixels, 64 channels by way of
// 64 to 256, at batch 32 and 128 an H200 takes 40 and 149 us, where this says 45 and 171. 0: there are too few tiles
// for most multiprocessors.
double estimate_pair(const Problem& p) {
  constexpr int64_t kLeast = 64;
  constexpr double kStartUs = 3, kTileUs = 0.9, kBytesPerUs = 3e4, kMacsPerUs = 2e6;
  const Result<Pair> pair = pair_of(p);
  if (!pair.ok() || p.outputs.back().dims.rank() != 4 || tiles_of(p.outputs.back().dims) < kLeast) return 0;
  const std::vector<Dims> in = operand_dims(p.inputs), out = operand_dims(p.outputs);
  const Result<Dims> between = chain_middle(pair->first, in);
  if (!between.ok() || !check_operands(p, {in, out, {}}, *pair, *between).ok()) return 0;
  const auto rounds = static_cast<double>((tiles_of(out.back()) + kMultiprocessors - 1) / kMultiprocessors);
  const auto operands = 1 + static_cast<int64_t>(pair->second.inputs.size()) - pair->second.num_main;
  const int64_t channels = operands * pair->columns + pair->further_channels + pair->next_columns;
  const auto bytes = static_cast<double>(pair->patch_bytes() + 128 * channels);
  const double macs = 32.0 * static_cast<double>(pair->weight_bytes());
  return kStartUs + rounds * (kTileUs + std::max(bytes / kBytesPerUs, macs / kMacsPerUs));
}

}  // namespace wootz::cuda
