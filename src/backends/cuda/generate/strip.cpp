// Depthwise convolution and pooling of channels-last images: a thread takes 16 bytes of channels and a strip of
// neighbouring results along a row, so that what their windows share is read once; or two channels, where what windows
// cover is in shared memory, with sums of the results where the gate of their image needs its mean.
#include <algorithm>

#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/gated.h"
#include "backends/cuda/generate/kernel_source.h"
#include "backends/cuda/generate/tile_cost.h"
#include "backends/cuda/generate/window.h"
#include "backends/cuda/support/int8_weights.h"
#include "base/fp8.h"

namespace wootz::cuda {
namespace {

constexpr int kStripBlock = 128;

struct Strip {
  int64_t images, channels, in_h, in_w, out_h, out_w;
  int64_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, top, left, bottom, right;
  int64_t vector = 1, results = 1;  // channels and results of a thread
  int64_t strips() const { return (out_w + results - 1) / results; }
  int64_t threads() const { return images * out_h * strips() * (channels / vector); }
};

Result<Strip> make_strip(const Problem& p, const Dims& x, const Dims& y, const Window& w, int64_t results) {
  const DType type = p.inputs[0].dtype;
  const bool pool = p.family() == Family::kPool,
             bytes = (is_int8(type) && (pool || has_scales(p))) || (pool && is_fp8(type));
  if (!is_model_float(type) && !bytes) return unsupported("{} in strips", dtype_name(type));
  if (x.rank() != 4 || x[1] != y[1]) return unsupported("strips of {} to {}", x.to_string(), y.to_string());
  if (p.inputs[0].layout != Layout::kChannelsLast || p.outputs[0].layout != Layout::kChannelsLast)
    return unsupported("strips of rows of pixels");
  if (x.volume() >= (int64_t{1} << 31) || y.volume() >= (int64_t{1} << 31))
    return unsupported("{} results", y.volume());
  if (w.kernel[0] * w.kernel[1] > 128 || w.kernel[0] < 1 || w.kernel[1] < 1) return unsupported("a large window");
  Strip s{x[0],         x[1],         x[2],           x[3],           y[2],      y[3],      w.kernel[0], w.kernel[1],
          w.strides[0], w.strides[1], w.dilations[0], w.dilations[1], w.pads[0], w.pads[1], w.pads[2],   w.pads[3]};
  // Sums of products are floats, of which a thread has no more of bytes than of halves.
  s.vector = bytes && pool ? 16 : type == DType::kF32 ? 4 : 8;
  s.results = results;
  if (s.channels % s.vector != 0) return unsupported("{} channels", s.channels);
  if ((results - 1) * s.stride_w + (s.kernel_w - 1) * s.dilation_w > 64) return unsupported("a window of many steps");
  return s;
}

// What common/strip.cuh asks for.
KernelSource strip_source(std::string_view file, const Problem& p, const BindArgs& args, const Strip& s,
                          int64_t threads = kStripBlock) {
  KernelSource source(file, transient(p, args));
  source.type("X", storage_type(p.inputs[0].dtype));
  source.type("Y", storage_type(p.outputs[0].dtype));
  source.operand("Y* __restrict__", "y", {true, 0});
  source.operand("const X*", "x", {false, 0});
  const std::pair<const char*, int64_t> fixed[] = {
      {"kThreads", threads},    {"kVector", s.vector},    {"kResults", s.results},     {"kKernelH", s.kernel_h},
      {"kKernelW", s.kernel_w}, {"kStrideW", s.stride_w}, {"kDilationW", s.dilation_w}};
  for (const auto& [name, value] : fixed) source.fixed(name, value);
  const std::pair<const char*, int64_t> numbers[] = {{"threads", s.threads()}, {"packs", s.channels / s.vector},
                                                     {"strips", s.strips()},   {"out_h", s.out_h},
                                                     {"out_w", s.out_w},       {"in_h", s.in_h},
                                                     {"in_w", s.in_w},         {"channels", s.channels},
                                                     {"stride_h", s.stride_h}, {"dilation_h", s.dilation_h},
                                                     {"top", s.top},           {"left", s.left}};
  for (const auto& [name, value] : numbers) source.number(name, value);
  return source;
}

// results(): the epilogue on the results a of a pixel; operands are read as packs where they lie so.
Status write_results(const Problem& p, const BindArgs& args, const Strip& s, KernelSource* source) {
  std::string reads;
  // Bytes without a scale, of which only the largest is sought, are compared as floats.
  std::vector<std::string> inputs{is_float(p.inputs[0].dtype) || has_scales(p) ? "a[k]" : "(X)a[k]"};
  for (size_t i = static_cast<size_t>(p.num_main); i < p.inputs.size(); ++i) {
    const size_t k = i - static_cast<size_t>(p.num_main) + 1;
    WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> over,
                           strides_over(p.inputs[i].layout, args.inputs[i], args.outputs[0]));
    for (size_t axis = 0; axis < 4; ++axis) source->number(fmt::format("e{}_stride{}", k, axis), over[axis]);
    const std::string at =
        fmt::format("n * c.e{0}_stride0 + channel * c.e{0}_stride1 + oy * c.e{0}_stride2 + ox * c.e{0}_stride3", k);
    bool packs = over[1] == 1;
    for (const size_t axis : {size_t{0}, size_t{2}, size_t{3}}) packs = packs && over[axis] % s.vector == 0;
    if (packs)
      reads += fmt::format("  const Pack<{0}, kVector> o{1} = *(const Pack<{0}, kVector>*)(p.e{1} + ({2}));\n",
                           storage_type(p.inputs[i].dtype), k, at);
    inputs.push_back(packs ? fmt::format("w_get(o{}.v[k])", k)
                           : fmt::format("w_get(p.e{0}[{1} + k * c.e{0}_stride1])", k, at));
  }
  source->epilogue_operands(p);
  return source->results(p.epilogue, "const float (&a)[kVector], int n, int channel, int oy, int ox", reads, inputs);
}

Status finish(const Problem& p, const BindArgs& args, const Strip& s, KernelSource* source,
              std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(write_results(p, args, s, source));
  return source->finish(kStripBlock, blocks_for(s.threads(), kStripBlock), launches);
}

// What a depthwise convolution asks for. Errors: another convolution.
Result<Strip> depthwise_strip(const Problem& p, const BindArgs& args, int64_t results) {
  WOOTZ_RETURN_IF_ERROR(check_window(p, args, 2));
  const Dims &x = args.inputs[0], &f = args.inputs[1], &y = args.outputs[0];
  const bool bias = p.as<ConvParams>().has_bias;
  const DType type = p.inputs[0].dtype;
  if (p.num_main != (bias ? 3 : 2)) return invalid_argument("convolution of {} operands", p.num_main);
  const bool scaled = has_scales(p);
  if (p.as<ConvParams>().transposed || (scaled && !is_int8(type))) return unsupported("this convolution in strips");
  if (p.inputs[1].dtype != (scaled ? DType::kI8 : type) || !p.inputs[1].constant)
    return unsupported("weights that are not constant");
  if (x.rank() != 4 || f.rank() != 4 || p.as<ConvParams>().groups != x[1] || f[0] != x[1] || f[1] != 1 || y[1] != x[1])
    return unsupported("no depthwise convolution");
  Window window{{f[2], f[3]}, p.as<ConvParams>().strides, p.as<ConvParams>().dilations, p.as<ConvParams>().pads};
  WOOTZ_RETURN_IF_ERROR(check_values(window.strides, 2, 1));
  WOOTZ_RETURN_IF_ERROR(check_values(window.dilations, 2, 1));
  WOOTZ_RETURN_IF_ERROR(check_values(window.pads, 4, 0));
  if (bias && (args.inputs[2].volume() != x[1] || check_type(p.inputs[2].dtype).code() != Code::kOk))
    return invalid_argument("a bias of {} for {} channels", args.inputs[2].to_string(), x[1]);
  if (scaled) WOOTZ_RETURN_IF_ERROR(int8_scales(p, x[1]).status());
  if (scaled && args.constant_bytes.size() > 1 && args.constants[1] != nullptr &&
      args.constant_bytes[1] < scales_end(2 * f.volume(), x[1]))
    return invalid_argument("{} bytes of packed weights for {}", args.constant_bytes[1], f.to_string());
  return make_strip(p, x, y, window, results);
}

int64_t zero_of(const Problem& p) {
  const Floats& zeros = p.as<ConvParams>().x_zero;
  return zeros.empty() ? 0 : static_cast<int64_t>(zeros[0]);
}

// The filters, F, bias(), and where the channels' scales are behind the filters. Bytes are filters of FP16, which
// become floats at less than they do.
void add_filters(const Problem& p, int64_t filters, KernelSource* source) {
  const bool bias = p.as<ConvParams>().has_bias;
  source->type("F", storage_type(has_scales(p) ? DType::kF16 : p.inputs[1].dtype));
  source->operand("const F*", "f", {false, 1});
  source->fixed("kScaled", has_scales(p));
  source->number("scales", has_scales(p) ? static_cast<int64_t>(scales_begin(2 * filters)) / 2 : 0);
  if (bias) source->operand(fmt::format("const {}*", storage_type(p.inputs[2].dtype)), "b", {false, 2});
  source->code(fmt::format("W_FN float bias(const Operands& p, int channel) {{ return {}; }}\n",
                           bias ? "(float)w_get(p.b[channel])" : "0"));
}

// What a block of conv/patch.cuh computes: so many channels, rows, and strips along a row.
struct Patch {
  int64_t group, high, across, size;  // size: bytes of an element of x; filters have two
  int64_t threads() const { return (group / 2 * high * across + 31) / 32 * 32; }
  int64_t bytes(const Strip& s) const {
    const int64_t in_high = (high - 1) * s.stride_h + s.kernel_h;
    const int64_t in_wide = (across * s.results - 1) * s.stride_w + s.kernel_w;
    return (s.kernel_h * s.kernel_w * 2 + in_high * in_wide * size) * group;
  }
};

// As many channels as a warp has pairs, or fewer where that leaves none over; as many rows as give 256 threads their
// work, in tiles of equal height.
Patch make_patch(const Strip& s, int64_t size) {
  constexpr int64_t kMostChannels = 64, kLeastChannels = 32, kThreads = 256, kMostBytes = 48 << 10;
  const auto parts = [](int64_t count, int64_t each) { return (count + each - 1) / each; };
  Patch patch{std::min(s.channels, kMostChannels), 1, 1, size};
  for (int64_t group = patch.group; group >= kLeastChannels; group -= s.vector)
    if (s.channels % group == 0) {
      patch.group = group;
      break;
    }
  if (s.strips() <= 3) patch.across = s.strips();
  const int64_t rows = std::clamp<int64_t>(kThreads / (patch.group / 2 * patch.across), 1, s.out_h);
  patch.high = parts(s.out_h, parts(s.out_h, rows));
  while (patch.high > 1 && patch.bytes(s) > kMostBytes) --patch.high;
  return patch;
}

// Blocks that a multiprocessor gets, for which registers are to suffice: left to itself, the compiler leaves room for
// as many as can be resident, and a thread waits for each read of shared memory.
int64_t blocks_each(const LaunchSize& size) {
  constexpr int64_t kMultiprocessors = 132, kThreads = 2048;
  const int64_t blocks = int64_t{1} * size.grid_x * size.grid_y * size.grid_z;
  return std::clamp<int64_t>((blocks + kMultiprocessors - 1) / kMultiprocessors, 2, kThreads / size.block);
}

// Depthwise convolution by patches; with `sums` those of each block's pixels, too. Returns how many blocks an image
// has.
Result<int64_t> add_patches(const Problem& p, const BindArgs& args, int results, bool sums,
                            std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(Strip s, depthwise_strip(p, args, results));
  const auto size = static_cast<int64_t>(dtype_bytes(p.inputs[0].dtype, 1));
  if ((size != 2 && !has_scales(p)) || (p.passing && transient(p, args)))
    return unsupported("patches of elements of {} bytes, or of other extents each time", size);
  if (zero_of(p) != 0) return unsupported("patches of bytes with a zero point");
  if (s.dilation_h != 1 || s.dilation_w != 1 || s.stride_h > 2 || s.stride_w > 2 || s.kernel_h > 7 || s.kernel_w > 7)
    return unsupported("patches for a window of many pixels");
  if (args.outputs[0].volume() == 0) return int64_t{0};
  const Patch patch = make_patch(s, size);
  s.vector = 2;
  KernelSource source =
      strip_source(sums ? "conv/patch_sums.cuh" : "conv/depthwise_patch.cuh", p, args, s, patch.threads());
  source.fixed("kCluster", 1);
  source.fixed("kGroup", patch.group);
  source.fixed("kHigh", patch.high);
  source.fixed("kAcross", patch.across);
  source.fixed("kStrideH", s.stride_h);
  const int64_t tiles_w = blocks_for(s.out_w, patch.across * results);
  source.number("tiles_w", tiles_w);
  add_filters(p, args.inputs[1].volume(), &source);
  WOOTZ_RETURN_IF_ERROR(write_results(p, args, s, &source));
  const int64_t tiles = tiles_w * blocks_for(s.out_h, patch.high);
  if (tiles >= int64_t{1} << 31 || s.images > 65535) return unsupported("{} images of {} patches", s.images, tiles);
  LaunchSize launch;
  launch.block = static_cast<unsigned>(patch.threads());
  launch.grid_x = static_cast<unsigned>(tiles);
  launch.grid_y = blocks_for(s.channels, patch.group);
  launch.grid_z = static_cast<unsigned>(s.images);
  launch.shared = static_cast<unsigned>(patch.bytes(s) + (sums ? patch.high * patch.across * patch.group * 4 : 0));
  launch.at_once = static_cast<unsigned>(blocks_each(launch));
  if (sums) {
    source.number("tiles", tiles);
    source.operand("float* __restrict__", "sums", kWorkspacePointer);
  }
  const int64_t summed = sums ? s.images * tiles * s.channels : 0;
  WOOTZ_RETURN_IF_ERROR(source.finish(launch, launches, static_cast<size_t>(summed) * sizeof(float)));
  return tiles;
}

}  // namespace

Status generate_depthwise(const Problem& p, const BindArgs& args, int results, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const Strip s, depthwise_strip(p, args, results));
  if (results > 1 && s.out_w < results) return unsupported("rows of {}", s.out_w);
  if (args.outputs[0].volume() == 0) return Status();
  KernelSource source = strip_source("conv/depthwise.cuh", p, args, s);
  source.fixed("kZero", zero_of(p));
  add_filters(p, args.inputs[1].volume(), &source);
  return finish(p, args, s, &source, launches);
}

Status generate_depthwise_patch(const Problem& p, const BindArgs& args, int results, std::vector<Launch>* launches) {
  return add_patches(p, args, results, false, launches).status();
}

Result<int64_t> generate_depthwise_sums(const Problem& p, const BindArgs& args, int results,
                                        std::vector<Launch>* launches) {
  return add_patches(p, args, results, true, launches);
}

// From [C,1,h,w] to [h,w,C]; of bytes as FP16, with a scale for each channel after it.
Result<std::optional<PackedForm>> pack_depthwise(const Problem& p, int input, const HostTensor& source) {
  if (input != 1) return std::optional<PackedForm>{};
  const int64_t channels = source.dims()[0], inner = channels == 0 ? 0 : source.volume() / channels;
  PackedForm turned = transposed_form(source, channels, inner);
  if (!has_scales(p)) return std::optional(std::move(turned));
  WOOTZ_ASSIGN_OR_RETURN(const GemmScales scales, int8_scales(p, channels));
  const auto pack = [turned, scales, channels]() -> Result<std::vector<std::byte>> {
    std::vector<std::byte> weights(turned.bytes);
    WOOTZ_RETURN_IF_ERROR(turned.make(weights));
    return with_scales(as_halves(weights), scales, channels);
  };
  return std::optional(packed_by(scales_end(2 * source.volume(), channels), pack));
}

Status generate_pool_strip(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_window(p, args, 1));
  const Dims &x = args.inputs[0], &y = args.outputs[0];
  const PoolKind kind = p.as<PoolParams>().kind;
  if (p.num_main != 1 || (kind != PoolKind::kMax && kind != PoolKind::kAvg) || !p.as<PoolParams>().x_scale.empty())
    return unsupported("pool of kind '{}'", name_of(kind));
  WOOTZ_ASSIGN_OR_RETURN(const Window window, pool_window(p, x));
  if (x.rank() != 4) return unsupported("strips of {}", x.to_string());
  // Many results: threads enough even when each takes several.
  const int64_t results = y.volume() >= (int64_t{1} << 23) ? 4 : y.volume() >= (int64_t{1} << 21) ? 2 : 1;
  WOOTZ_ASSIGN_OR_RETURN(const Strip s, make_strip(p, x, y, window, std::min(results, std::max<int64_t>(1, y[3]))));
  if (y.volume() == 0) return Status();
  const bool max = kind == PoolKind::kMax, padded = p.as<PoolParams>().count_include_pad;
  const DType type = p.inputs[0].dtype;
  if (!max && !is_float(type)) return unsupported("averages of {} in strips", dtype_name(type));
  KernelSource source = strip_source("pool/strip.cuh", p, args, s);
  source.fixed("kMax", max);
  source.number("first_row", padded ? -s.top : 0);
  source.number("end_row", padded ? s.in_h + s.bottom : s.in_h);
  source.number("first_column", padded ? -s.left : 0);
  source.number("end_column", padded ? s.in_w + s.right : s.in_w);
  return finish(p, args, s, &source, launches);
}

// A launch, and bytes at the memory's speed. With few results there are few threads, each of which reads a whole
// window.
double estimate_pool_strip(const Problem& p) {
  constexpr int64_t kFew = 1 << 18;
  constexpr double kWaiting = 1.5;
  return (p.outputs[0].dims.volume() < kFew ? kWaiting : 1) * (2.0 + bytes_of(p) / 3e6);
}

}  // namespace wootz::cuda
