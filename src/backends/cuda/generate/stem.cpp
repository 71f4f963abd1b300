// Family conv of few channels in 16 bits: conv/stem.cuh.
#include "backends/cuda/generate/stem.h"

#include <algorithm>
#include <cstring>

#include "backend/operand_dims.h"
#include "backend/quantized.h"
#include "backends/cuda/generate/expression.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/tile.h"
#include "backends/cuda/generate/window.h"

namespace wootz::cuda {
namespace {

constexpr int64_t kBlocks = 132 * 8;  // as many as a GPU has room for, or somewhat more

int64_t patch_bytes(const Stem& s) {
  const int64_t high = (Stem::kWarps - 1) * s.stride_h + s.taps_h;
  const int64_t wide = ((Stem::kWide - 1) * s.stride_w + s.slots() + 1) / 2 * 2;
  return (s.channels * high * wide * 2 + 15) / 16 * 16;
}

Result<Stem> stem_of_halves(const Problem& p, const Dims& w) {
  const DType type = p.inputs.empty() ? DType::kInvalid : p.inputs[0].dtype;
  if ((type != DType::kF16 && type != DType::kBF16) || p.inputs.size() < 2 || p.inputs[1].dtype != type)
    return unsupported("{} on tensor cores of 16-bit floats", dtype_name(type));
  if (!p.as<ConvParams>().x_scale.empty()) return unsupported("a convolution of quantized values in floats");
  WOOTZ_ASSIGN_OR_RETURN(Stem s, stem_of(p, w));
  if (s.stride_w % 2 == 0 && s.taps_w + s.left % 2 <= 8) s.shift = s.left % 2;
  return s;
}

Result<Stem> stem_at(const Problem& p, const BindArgs& args) {
  WOOTZ_ASSIGN_OR_RETURN(const Stem s, stem_of_halves(p, args.inputs[1]));
  WOOTZ_RETURN_IF_ERROR(check_stem(p, args, s));
  WOOTZ_RETURN_IF_ERROR(check_epilogue(p, p.inputs[0].dtype));
  if (args.constant_bytes.size() > 1 && args.constants[1] != nullptr &&
      args.constant_bytes[1] < static_cast<size_t>(s.weight_bytes()))
    return invalid_argument("{} bytes of packed weights for {}", args.constant_bytes[1], args.inputs[1].to_string());
  return s;
}

// Byte b of place k of a column's sum, in the weights.
std::optional<int64_t> weight_at(const Stem& s, int64_t column, int64_t k, int64_t b) {
  const int64_t row = k / s.slots(), tap = k % s.slots() - s.shift;
  if (column >= s.columns || row >= s.rows() || tap < 0 || tap >= s.taps_w) return std::nullopt;
  if (s.place == 2) return ((column * s.rows() + row) * s.taps_w + tap) * 2 + b;
  if (b >= s.channels) return std::nullopt;
  return ((column * s.channels + b) * s.taps_h + row) * s.taps_w + tap;
}

}  // namespace

Result<Stem> stem_of(const Problem& p, const Dims& w) {
  const ConvParams& params = p.as<ConvParams>();
  if (!p.inputs[1].constant || params.transposed || params.groups != 1 || w.rank() != 4)
    return unsupported("another convolution than one of images by constant weights");
  WOOTZ_RETURN_IF_ERROR(check_values(params.strides, 2, 1));
  WOOTZ_RETURN_IF_ERROR(check_values(params.dilations, 2, 1));
  WOOTZ_RETURN_IF_ERROR(check_values(params.pads, 4, 0));
  if (params.dilations[0] != 1 || params.dilations[1] != 1) return unsupported("a window with gaps");
  const Stem s{w[0], w[1], w[2], w[3], params.strides[0], params.strides[1], params.pads[0], params.pads[1]};
  if (s.channels < 1 || s.channels > 4 || s.taps_h < 1 || s.taps_h > 8 || s.taps_w < 1 || s.taps_w > 8 ||
      s.stride_h > 4 || s.stride_w > 4)
    return unsupported("{} by steps of {} and {}; few channels and small windows are taken", w.to_string(), s.stride_h,
                       s.stride_w);
  if (s.columns < 8 || s.columns % 8 != 0) return unsupported("{} columns, not a multiple of 8", s.columns);
  return s;
}

Status check_stem(const Problem& p, const BindArgs& args, const Stem& s) {
  const Dims &x = args.inputs[0], &y = args.outputs[0];
  if (p.num_main != (has_bias(p) ? 3 : 2) || p.outputs.size() != 1)
    return invalid_argument("a convolution of {} operands", p.num_main);
  if (p.inputs[0].layout != Layout::kLinear || p.outputs[0].layout != Layout::kChannelsLast)
    return unsupported("other than rows of pixels in and channels innermost out");
  if (x.rank() != 4 || y.rank() != 4 || x[0] != y[0] || x[1] != s.channels || y[1] != s.columns)
    return invalid_argument("{} by {} gives {}", x.to_string(), args.inputs[1].to_string(), y.to_string());
  if (p.num_main == 3 && args.inputs[2].volume() != y[1])
    return invalid_argument("a bias of {} for {} channels", args.inputs[2].to_string(), y[1]);
  if (x.volume() >= int64_t{1} << 31 || y.volume() >= int64_t{1} << 31)
    return unsupported("{} gives {}", x.to_string(), y.to_string());
  return Status();
}

int64_t stem_tiles(const Dims& y, int64_t high) {
  return y[0] * ((y[2] + high - 1) / high) * ((y[3] + Stem::kWide - 1) / Stem::kWide);
}

std::vector<std::byte> stem_by_lanes(const Stem& s, const HostTensor& weights) {
  const auto* const from = static_cast<const std::byte*>(weights.data());
  std::vector<std::byte> to(static_cast<size_t>(s.weight_bytes()));
  const int64_t pairs = s.at_once() / 16;
  for (int64_t i = 0; i < s.weight_bytes(); ++i) {
    const int64_t byte = i % 4, word = i / 4 % 4, lane = i / 16 % 32, pair = i / 512 % pairs,
                  step = i / 512 / pairs % s.steps(), tile = i / 512 / pairs / s.steps();
    const int64_t part = pair * 2 + word / 2, of_part = lane / 4;
    const int64_t column = tile * s.at_once() + part / 4 * 32 + of_part / 2 * 8 + part % 4 * 2 + of_part % 2;
    const int64_t at = step * 32 + word % 2 * 16 + lane % 4 * 4 + byte;  // in a column's sum
    if (const std::optional<int64_t> found = weight_at(s, column, at / s.place, at % s.place))
      to[static_cast<size_t>(i)] = from[*found];
  }
  return to;
}

void write_stem(const Problem& p, const BindArgs& args, const Stem& s, const StemWriting& how, KernelSource* source) {
  const Dims &x = args.inputs[0], &y = args.outputs[0];
  source->type("X", storage_type(p.inputs[0].dtype));
  source->type("Y", storage_type(p.outputs[0].dtype));
  const int64_t high = Stem::kWarps * how.parts;
  const std::pair<const char*, int64_t> fixed[] = {{"kThreads", Stem::kWarps * 32},
                                                   {"kWarps", Stem::kWarps},
                                                   {"kParts", how.parts},
                                                   {"kCluster", 1},
                                                   {"kDirect", 1},
                                                   {"kColumns", s.at_once()},
                                                   {"kChannels", s.channels},
                                                   {"kKernelH", s.taps_h},
                                                   {"kSlots", s.slots()},
                                                   {"kStrideH", s.stride_h},
                                                   {"kStrideW", s.stride_w},
                                                   {"kUnit", how.unit}};
  for (const auto& [name, value] : fixed) source->fixed(name, value);
  const std::pair<const char*, int64_t> numbers[] = {{"columns", s.columns},
                                                     {"in_h", x[2]},
                                                     {"in_w", x[3]},
                                                     {"out_h", y[2]},
                                                     {"out_w", y[3]},
                                                     {"pad_top", s.top},
                                                     {"pad_left", s.left},
                                                     {"tiles_w", (y[3] + Stem::kWide - 1) / Stem::kWide},
                                                     {"tiles_h", (y[2] + high - 1) / high},
                                                     {"tiles", stem_tiles(y, high)},
                                                     {"blocks", how.blocks},
                                                     {"tables", s.weight_bytes()}};
  for (const auto& [name, value] : numbers) source->number(name, value);
  source->operand("Y* __restrict__", "y", {true, 0});
  source->operand("const X* __restrict__", "x", {false, 0});
  source->operand("const W* __restrict__", "w", {false, 1});
}

LaunchSize stem_launch(const Stem& s, const StemWriting& how, int64_t patch_bytes) {
  LaunchSize size;
  size.grid_x = static_cast<unsigned>(how.blocks);
  size.grid_y = static_cast<unsigned>(s.column_tiles());
  size.block = static_cast<unsigned>(Stem::kWarps * 32);
  size.shared = static_cast<unsigned>(s.bytes() + patch_bytes);
  return size;
}

Result<std::optional<PackedForm>> pack_stem(const Problem& p, int input, const HostTensor& source) {
  if (input != 1) return std::optional<PackedForm>{};
  WOOTZ_ASSIGN_OR_RETURN(const Stem s, stem_of_halves(p, source.dims()));
  return std::optional(packed_by(static_cast<size_t>(s.weight_bytes()),
                                 [s, source]() -> Result<std::vector<std::byte>> { return stem_by_lanes(s, source); }));
}

Status generate_stem(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const Stem s, stem_at(p, args));
  const Dims &x = args.inputs[0], &y = args.outputs[0];
  if (y.volume() == 0) return Status();
  StemWriting how;
  how.unit = s.stride_w % 2 == 0 && x[3] % 2 == 0 ? 2 : 1;
  how.blocks = std::min(stem_tiles(y, Stem::kWarps), std::max<int64_t>(1, kBlocks / s.column_tiles()));
  KernelSource source("conv/stem.cuh", true);
  source.type("W", storage_type(p.inputs[1].dtype));
  source.type("Part", "float");
  source.fixed("kShift", s.shift);
  for (const char* name : {"kScaled", "kCorrected", "kShort"}) source.fixed(name, 0);
  source.fixed_real("kScale", 1);
  write_stem(p, args, s, how, &source);
  WOOTZ_RETURN_IF_ERROR(write_by_eight(p, args, s.columns, false, &source));
  return source.finish(stem_launch(s, how, patch_bytes(s)), launches);
}

// As measured on an H100: a start, and for each tile its pixels and its products.
double estimate_stem(const Problem& p) {
  constexpr double kStartUs = 2.6, kTileUs = 2e-3, kProductsUs = 1.6e-4;
  const std::vector<Dims> in = operand_dims(p.inputs), out = operand_dims(p.outputs);
  const Result<Stem> s = stem_at(p, {in, out, {}});
  if (!s.ok()) return 0;
  const auto products = static_cast<double>(s->steps() * s->at_once() / 16);
  const auto tiles = static_cast<double>(stem_tiles(out[0], Stem::kWarps) * s->column_tiles());
  return kStartUs + tiles * (kTileUs + kProductsUs * products);
}

}  // namespace wootz::cuda
