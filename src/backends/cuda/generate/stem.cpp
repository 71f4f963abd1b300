// What convolutions of few channels in 16 bits and in 8 bits share: conv/stem_tiles.cuh.
#include "backends/cuda/generate/stem.h"

#include "backend/chain.h"
#include "backend/quantized.h"
#include "backends/cuda/generate/expression.h"
#include "backends/cuda/generate/window.h"

namespace wootz::cuda {
namespace {

// Byte b of place k of a column's sum, in the weights.
std::optional<int64_t> weight_at(const Stem& s, int64_t column, int64_t k, int64_t b) {
  const int64_t row = k / s.slots(), tap = k % s.slots() - s.shift;
  if (column >= s.columns || row >= s.rows() || tap < 0 || tap >= s.taps_w) return std::nullopt;
  if (s.place == 2) return ((column * s.rows() + row) * s.taps_w + tap) * 2 + b;
  if (b >= s.channels) return std::nullopt;
  return ((column * s.channels + b) * s.taps_h + row) * s.taps_w + tap;
}

}  // namespace

Result<StemProblem> stem_problem(const Problem& p) {
  StemProblem s;
  if (p.is(Family::kChain)) {
    WOOTZ_ASSIGN_OR_RETURN(ChainParts parts, chain_parts(p));
    if (!parts.first.is(Family::kPointwise) || !parts.second.is(Family::kConv) || parts.first.inputs.size() != 1 ||
        p.outputs.size() != 1)
      return unsupported("another chain than an expression on an image and a convolution");
    s.made = std::move(parts.first.epilogue);
    s.convolution = std::move(parts.second);
    s.convolution.inputs[0].layout = p.inputs[0].layout;
  } else {
    s.convolution = p;
  }
  if (!p.inputs.empty()) s.read = p.inputs[0].dtype;
  return s;
}

Status write_read(const StemProblem& s, std::string_view type, std::string_view name, KernelSource* source) {
  WOOTZ_ASSIGN_OR_RETURN(const ExpressionText text, expression_text(s.made, {"w_get(x)"}));
  const DType made = s.convolution.inputs[0].dtype;
  const char* const rounded = made == DType::kF16 || made == DType::kBF16 ? "Put<W>::to({}).x" : "{}";
  const std::string value = fmt::format(fmt::runtime(rounded), text.results[0]);
  source->code(fmt::format("W_FN {0} {1}(X x) {{\n{2}  return ({0})({3});\n}}\n", type, name, text.lines, value));
  return Status();
}

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

StemWriting stem_writing(const Dims& y, int64_t parts) {
  StemWriting how;
  how.parts = parts;
  how.step_high = Stem::kWarps * parts;
  how.step_wide = Stem::kWide;
  how.images = y[0];
  how.tiles_h = (y[2] + how.step_high - 1) / how.step_high;
  how.tiles_w = (y[3] + how.step_wide - 1) / how.step_wide;
  return how;
}

std::vector<std::byte> stem_by_columns(const Stem& s, const HostTensor& weights) {
  const auto* const from = static_cast<const std::byte*>(weights.data());
  std::vector<std::byte> to(static_cast<size_t>(s.weight_bytes()));
  const int64_t pairs = s.at_once() / 16;
  for (int64_t i = 0; i < s.weight_bytes(); ++i) {
    const int64_t byte = i % 4, lane = i / 4 % 32, word = i / 128 % 4, pair = i / 512 % pairs,
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
  source->type("Y", storage_type(p.outputs[0].dtype));
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
                                                   {"kUnit", how.unit},
                                                   {"kStepHigh", how.step_high},
                                                   {"kStepWide", how.step_wide},
                                                   {"kBeforeH", how.before_h},
                                                   {"kBeforeW", how.before_w}};
  for (const auto& [name, value] : fixed) source->fixed(name, value);
  const std::pair<const char*, int64_t> numbers[] = {{"columns", s.columns},
                                                     {"in_h", x[2]},
                                                     {"in_w", x[3]},
                                                     {"out_h", y[2]},
                                                     {"out_w", y[3]},
                                                     {"pad_top", s.top},
                                                     {"pad_left", s.left},
                                                     {"tiles_w", how.tiles_w},
                                                     {"tiles_h", how.tiles_h},
                                                     {"tiles", how.tiles()},
                                                     {"blocks", how.blocks},
                                                     {"blocks_w", how.blocks % how.tiles_w},
                                                     {"blocks_h", how.blocks / how.tiles_w % how.tiles_h},
                                                     {"blocks_images", how.blocks / how.tiles_w / how.tiles_h},
                                                     {"tables", s.weight_bytes()}};
  for (const auto& [name, value] : numbers) source->number(name, value);
  source->operand("Y* __restrict__", "y", {true, 0});
  source->operand("const X*", "x", {false, 0});
  source->operand("const W*", "w", {false, 1});
}

LaunchSize stem_launch(const Stem& s, const StemWriting& how, int64_t patch_bytes) {
  LaunchSize size;
  size.grid_x = static_cast<unsigned>(how.blocks);
  size.grid_y = static_cast<unsigned>(s.column_tiles());
  size.block = static_cast<unsigned>(Stem::kWarps * 32);
  size.shared = static_cast<unsigned>(s.bytes() + patch_bytes);
  return size;
}

}  // namespace wootz::cuda
