// Family conv of few channels in 16 bits by constant weights, as networks of images begin with: conv/stem.cuh.
#include <algorithm>
#include <cstring>

#include "backend/operand_dims.h"
#include "backend/quantized.h"
#include "backends/cuda/generate/expression.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/kernel_source.h"
#include "backends/cuda/generate/tile.h"
#include "backends/cuda/generate/window.h"

namespace wootz::cuda {
namespace {

constexpr int64_t kWarps = 4, kWide = 16, kBlocks = 132 * 8;  // as many blocks as a GPU has room for, or somewhat more

// What goes by the parameters and the weights alone, as these are packed once for all extents.
struct Stem {
  int64_t columns = 0, channels = 0, taps_h = 1, taps_w = 1;
  int64_t stride_h = 1, stride_w = 1, top = 0, left = 0;
  int64_t shift = 0;  // places of a row of the window before its first: so that it begins where two pixels do
  int64_t slots() const { return taps_w + shift <= 4 ? 4 : 8; }
  int64_t steps() const { return (channels * taps_h * slots() + 15) / 16; }
  int64_t at_once() const { return columns > 32 ? 64 : 32; }  // columns of a block
  int64_t column_tiles() const { return (columns + at_once() - 1) / at_once(); }
  int64_t bytes() const { return steps() * at_once() * 32; }  // of a block's weights
  int64_t patch_bytes() const {
    const int64_t high = (kWarps - 1) * stride_h + taps_h, wide = ((kWide - 1) * stride_w + slots() + 1) / 2 * 2;
    return (channels * high * wide * 2 + 15) / 16 * 16;
  }
};

Result<Stem> stem_of(const Problem& p, const Dims& w) {
  const DType type = p.inputs.empty() ? DType::kInvalid : p.inputs[0].dtype;
  if ((type != DType::kF16 && type != DType::kBF16) || p.inputs.size() < 2 || p.inputs[1].dtype != type)
    return unsupported("{} on tensor cores of 16-bit floats", dtype_name(type));
  const ConvParams& params = p.as<ConvParams>();
  if (!p.inputs[1].constant || params.transposed || params.groups != 1 || !params.x_scale.empty() || w.rank() != 4)
    return unsupported("another convolution than one of images by constant weights");
  WOOTZ_RETURN_IF_ERROR(check_values(params.strides, 2, 1));
  WOOTZ_RETURN_IF_ERROR(check_values(params.dilations, 2, 1));
  WOOTZ_RETURN_IF_ERROR(check_values(params.pads, 4, 0));
  if (params.dilations[0] != 1 || params.dilations[1] != 1) return unsupported("a window with gaps");
  Stem s{w[0], w[1], w[2], w[3], params.strides[0], params.strides[1], params.pads[0], params.pads[1]};
  if (s.stride_w % 2 == 0 && s.taps_w + s.left % 2 <= 8) s.shift = s.left % 2;
  if (s.channels < 1 || s.channels > 4 || s.taps_h < 1 || s.taps_h > 8 || s.taps_w < 1 || s.taps_w > 8 ||
      s.stride_h > 4 || s.stride_w > 4)
    return unsupported("{} by steps of {} and {}; few channels and small windows are taken", w.to_string(), s.stride_h,
                       s.stride_w);
  if (s.columns < 8 || s.columns % 8 != 0) return unsupported("{} columns, not a multiple of 8", s.columns);
  return s;
}

Result<Stem> stem_at(const Problem& p, const BindArgs& args) {
  WOOTZ_ASSIGN_OR_RETURN(const Stem s, stem_of(p, args.inputs[1]));
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
  WOOTZ_RETURN_IF_ERROR(check_epilogue(p, p.inputs[0].dtype));
  if (args.constant_bytes.size() > 1 && args.constants[1] != nullptr &&
      args.constant_bytes[1] < static_cast<size_t>(s.bytes() * s.column_tiles()))
    return invalid_argument("{} bytes of packed weights for {}", args.constant_bytes[1], args.inputs[1].to_string());
  return s;
}

int64_t tiles_of(const Dims& y) { return y[0] * ((y[2] + kWarps - 1) / kWarps) * ((y[3] + kWide - 1) / kWide); }

// The weight of place k of a column's sum.
std::optional<int64_t> weight_at(const Stem& s, int64_t column, int64_t k) {
  const int64_t row = k / s.slots(), tap = k % s.slots() - s.shift;
  if (column >= s.columns || row >= s.channels * s.taps_h || tap < 0 || tap >= s.taps_w) return std::nullopt;
  return (column * s.channels * s.taps_h + row) * s.taps_w + tap;
}

// As the lanes of a warp read them: conv/stem.cuh.
std::vector<std::byte> by_lanes(const Stem& s, const HostTensor& weights) {
  const auto* const from = static_cast<const std::byte*>(weights.data());
  std::vector<std::byte> to(static_cast<size_t>(s.bytes() * s.column_tiles()));
  const int64_t pairs = s.at_once() / 16, halves = s.bytes() * s.column_tiles() / 2;
  for (int64_t i = 0; i < halves; ++i) {
    const int64_t half = i % 2, word = i / 2 % 4, lane = i / 8 % 32, pair = i / 256 % pairs,
                  step = i / 256 / pairs % s.steps(), tile = i / 256 / pairs / s.steps();
    const int64_t part = pair * 2 + word / 2, of_part = lane / 4;
    const int64_t column = tile * s.at_once() + part / 4 * 32 + of_part / 2 * 8 + part % 4 * 2 + of_part % 2;
    const int64_t k = step * 16 + word % 2 * 8 + lane % 4 * 2 + half;
    if (const std::optional<int64_t> at = weight_at(s, column, k))
      std::memcpy(&to[static_cast<size_t>(i * 2)], from + *at * 2, 2);
  }
  return to;
}

void add_constants(const Stem& s, const Dims& x, const Dims& y, int64_t blocks, KernelSource* source) {
  const bool by_two = s.stride_w % 2 == 0 && x[3] % 2 == 0;
  const std::pair<const char*, int64_t> fixed[] = {
      {"kThreads", kWarps * 32}, {"kWarps", kWarps},        {"kParts", 1},
      {"kCluster", 1},           {"kColumns", s.at_once()}, {"kChannels", s.channels},
      {"kKernelH", s.taps_h},    {"kKernelW", s.taps_w},    {"kSlots", s.slots()},
      {"kShift", s.shift},       {"kStrideH", s.stride_h},  {"kStrideW", s.stride_w},
      {"kUnit", by_two ? 2 : 1}};
  for (const auto& [name, value] : fixed) source->fixed(name, value);
  const std::pair<const char*, int64_t> numbers[] = {{"columns", s.columns},
                                                     {"in_h", x[2]},
                                                     {"in_w", x[3]},
                                                     {"out_h", y[2]},
                                                     {"out_w", y[3]},
                                                     {"pad_top", s.top},
                                                     {"pad_left", s.left},
                                                     {"tiles_w", (y[3] + kWide - 1) / kWide},
                                                     {"tiles_h", (y[2] + kWarps - 1) / kWarps},
                                                     {"tiles", tiles_of(y)},
                                                     {"blocks", blocks}};
  for (const auto& [name, value] : numbers) source->number(name, value);
}

}  // namespace

Result<std::optional<PackedForm>> pack_stem(const Problem& p, int input, const HostTensor& source) {
  if (input != 1) return std::optional<PackedForm>{};
  WOOTZ_ASSIGN_OR_RETURN(const Stem s, stem_of(p, source.dims()));
  return std::optional(packed_by(static_cast<size_t>(s.bytes() * s.column_tiles()),
                                 [s, source]() -> Result<std::vector<std::byte>> { return by_lanes(s, source); }));
}

Status generate_stem(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const Stem s, stem_at(p, args));
  const Dims& y = args.outputs[0];
  if (y.volume() == 0) return Status();
  const int64_t blocks = std::min(tiles_of(y), std::max<int64_t>(1, kBlocks / s.column_tiles()));
  KernelSource source("conv/stem.cuh", true);
  source.type("X", storage_type(p.inputs[0].dtype));
  source.type("W", storage_type(p.inputs[1].dtype));
  source.type("Y", storage_type(p.outputs[0].dtype));
  add_constants(s, args.inputs[0], y, blocks, &source);
  source.operand("Y* __restrict__", "y", {true, 0});
  source.operand("const X* __restrict__", "x", {false, 0});
  source.operand("const W* __restrict__", "w", {false, 1});
  WOOTZ_RETURN_IF_ERROR(write_by_eight(p, args, s.columns, &source));
  LaunchSize size;
  size.grid_x = static_cast<unsigned>(blocks);
  size.grid_y = static_cast<unsigned>(s.column_tiles());
  size.block = static_cast<unsigned>(kWarps * 32);
  size.shared = static_cast<unsigned>(s.bytes() + s.patch_bytes());
  return source.finish(size, launches);
}

// As measured on an H100: a start, and for each tile its pixels and its products.
double estimate_stem(const Problem& p) {
  constexpr double kStartUs = 2.6, kTileUs = 2e-3, kProductsUs = 1.6e-4;
  const std::vector<Dims> in = operand_dims(p.inputs), out = operand_dims(p.outputs);
  const Result<Stem> s = stem_at(p, {in, out, {}});
  if (!s.ok()) return 0;
  const auto products = static_cast<double>(s->steps() * s->at_once() / 16);
  return kStartUs + static_cast<double>(tiles_of(out[0]) * s->column_tiles()) * (kTileUs + kProductsUs * products);
}

}  // namespace wootz::cuda
