// Family conv of few channels in 16 bits, and family chain of an expression that makes such floats and the convolution
// of them: conv/stem.cuh. Family chain of either and a pooling: conv/stem_pool.cuh.
#include <algorithm>

#include "backend/chain.h"
#include "backend/operand_dims.h"
#include "backends/cuda/generate/expression.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/stem.h"
#include "backends/cuda/generate/tile.h"
#include "backends/cuda/generate/walkers.h"

namespace wootz::cuda {
namespace {

constexpr int64_t kMultiprocessors = 132;

Result<Stem> stem_of_halves(const StemProblem& stem, const Dims& w) {
  const Problem& p = stem.convolution;
  const DType type = p.inputs.empty() ? DType::kInvalid : p.inputs[0].dtype;
  if ((type != DType::kF16 && type != DType::kBF16) || p.inputs.size() < 2 || p.inputs[1].dtype != type)
    return unsupported("{} on tensor cores of 16-bit floats", dtype_name(type));
  if (!p.as<ConvParams>().x_scale.empty()) return unsupported("a convolution of quantized values in floats");
  WOOTZ_ASSIGN_OR_RETURN(Stem s, stem_of(p, w));
  if (s.stride_w % 2 == 0 && s.taps_w + s.left % 2 <= 8) s.shift = s.left % 2;
  return s;
}

Result<Stem> stem_at(const StemProblem& stem, const BindArgs& args) {
  const Problem& p = stem.convolution;
  WOOTZ_ASSIGN_OR_RETURN(const Stem s, stem_of_halves(stem, args.inputs[1]));
  WOOTZ_RETURN_IF_ERROR(check_stem(p, args, s));
  WOOTZ_RETURN_IF_ERROR(check_epilogue(p, p.inputs[0].dtype));
  if (args.constant_bytes.size() > 1 && args.constants[1] != nullptr &&
      args.constant_bytes[1] < static_cast<size_t>(s.weight_bytes()))
    return invalid_argument("{} bytes of packed weights for {}", args.constant_bytes[1], args.inputs[1].to_string());
  return s;
}

// How a kernel reads the image: `lead` as kLead in the file.
struct Reading {
  StemWriting how;
  int64_t lead = 0, patch_bytes = 0, at_once = 1;
};

// What a block keeps beside weights and patch, and a thread beside what every such kernel has.
struct Beside {
  int64_t bytes = 0, registers = 0;
};

Result<Reading> reading_of(const Stem& s, const Dims& x, const StemWriting& tiles, const Beside& more) {
  constexpr int64_t kRegisters = 65536, kShared = 227 << 10, kOfBlock = 1 << 10;
  Reading r{tiles};
  const int64_t step = tiles.step_wide * s.stride_w, begin = tiles.before_w * s.stride_w + s.left + s.shift;
  for (const int64_t unit : {2, 4})
    if (x[3] % unit == 0 && step % unit == 0) r.how.unit = unit;
  r.lead = (r.how.unit - begin % r.how.unit) % r.how.unit;
  const int64_t high = (Stem::kWarps * tiles.parts - 1) * s.stride_h + s.taps_h;
  const int64_t wide = (r.lead + (Stem::kWide - 1) * s.stride_w + s.slots() + 3) / 4 * 4;
  r.patch_bytes = (s.channels * high * wide * 2 + 15) / 16 * 16 + more.bytes;
  // A thread keeps its part of six steps, its sums, what is the same for all tiles, and where the units are that it
  // reads. With less, registers are spilled, or the compiler lets each product wait for the one before.
  const int64_t threads = Stem::kWarps * 32, units = s.channels * high * (wide / r.how.unit);
  const int64_t own_units = (units + threads - 1) / threads, single = s.stride_w % 2 == 0 && r.lead % 2 != 0 ? 8 : 0;
  constexpr int64_t kMostUnits = 18;
  if (tiles.parts > 1 && own_units > kMostUnits)
    return unsupported("tiles of {} rows for each warp, by {} reads of a thread", tiles.parts, own_units);
  const int64_t registers =
      24 + s.at_once() / 2 + 24 + 8 * tiles.parts + 2 * std::max<int64_t>(0, own_units - 5) + single + more.registers;
  r.at_once = std::max<int64_t>(
      1, std::min({int64_t{8}, kRegisters / (threads * registers), kShared / (s.bytes() + r.patch_bytes + kOfBlock)}));
  r.how.blocks = std::min(tiles.tiles(), std::max<int64_t>(1, walked_multiprocessors() * r.at_once / s.column_tiles()));
  return r;
}

// Of family conv, or chain of an expression and a convolution. `args`: of the convolution.
Status write_halves(const StemProblem& stem, const BindArgs& args, const Stem& s, const Reading& reading,
                    KernelSource* source) {
  source->type("X", storage_type(stem.read));
  source->type("W", storage_type(stem.convolution.inputs[1].dtype));
  source->type("Part", "float");
  WOOTZ_RETURN_IF_ERROR(write_read(stem, "u16", "half_of", source));
  source->fixed("kShift", s.shift);
  source->fixed("kLead", reading.lead);
  for (const char* name : {"kScaled", "kCorrected", "kShort"}) source->fixed(name, 0);
  source->fixed_real("kScale", 1);
  write_stem(stem.convolution, args, s, reading.how, source);
  return write_by_eight(stem.convolution, args, s.columns, {}, source);
}

Status finish(const Stem& s, const Reading& reading, KernelSource* source, std::vector<Launch>* launches) {
  LaunchSize size = stem_launch(s, reading.how, reading.patch_bytes);
  size.at_once = static_cast<unsigned>(reading.at_once);
  return source->finish(size, launches);
}

// A start, and of the multiprocessor with the most tiles each row's pixels and products; more rows of a tile are fewer
// pixels for each. Not fitted to times.
double estimate(const Stem& s, const Result<Reading>& reading) {
  if (!reading.ok()) return 0;
  const StemWriting& how = reading->how;
  constexpr double kStartUs = 2.6, kRowUs = 0.08, kPixelsUs = 0.08, kProductsUs = 5e-3;
  const auto products = static_cast<double>(s.steps() * s.at_once() / 16);
  const auto rows =
      static_cast<double>((how.tiles() * s.column_tiles() + kMultiprocessors - 1) / kMultiprocessors * how.parts);
  return kStartUs + rows * (kRowUs + kPixelsUs / static_cast<double>(how.parts) + kProductsUs * products);
}

// A stem, and the pooling that alone reads its results: one size of window both ways, whose first ones begin in the
// image or before it.
struct PooledStem {
  StemProblem stem;
  Dims convolved;
  Stem of;
  int64_t window = 1, step = 1, top = 0, left = 0;
};

// With `result` in the place of the results.
BindArgs with_result(BindArgs args, const Dims& result) {
  args.outputs = {&result, 1};
  return args;
}

// The pooling's windows: of maxima, and alike both ways.
Status read_windows(const Problem& pool, PooledStem* s) {
  const auto* params = pool.as_if<PoolParams>();
  if (params == nullptr || params->kind != PoolKind::kMax || !pool.epilogue.empty() || pool.inputs.size() != 1 ||
      pool.outputs.size() != 1 || pool.outputs[0].dtype != pool.inputs[0].dtype || pool.inputs[0].dims.rank() != 4)
    return unsupported("another chain than a convolution and the largest of windows of it");
  WindowAxis axes[2];
  for (int a = 0; a < 2; ++a) {
    WOOTZ_ASSIGN_OR_RETURN(axes[a], window_axis(pool, 2 + a));
  }
  const WindowAxis& w = axes[0];
  if (w.kernel != axes[1].kernel || w.stride != axes[1].stride || w.dilation != 1 || axes[1].dilation != 1 ||
      w.kernel > 5 || w.stride > w.kernel || w.begin >= w.kernel || axes[1].begin >= w.kernel)
    return unsupported("windows of other forms");
  s->window = w.kernel;
  s->step = w.stride;
  s->top = w.begin;
  s->left = axes[1].begin;
  return Status();
}

Result<PooledStem> pooled_stem(const Problem& p, const BindArgs& args) {
  const DType made = p.outputs.empty() ? DType::kInvalid : p.outputs[0].dtype;
  if (made != DType::kF16 && made != DType::kBF16) return unsupported("the largest of {}", dtype_name(made));
  if (!p.is(Family::kChain) || p.outputs.size() != 1)
    return unsupported("another problem than a convolution and a pooling");
  WOOTZ_ASSIGN_OR_RETURN(ChainParts parts, chain_parts(p));
  PooledStem s;
  WOOTZ_RETURN_IF_ERROR(read_windows(parts.second, &s));
  if (p.outputs[0].layout != Layout::kChannelsLast) return unsupported("other than channels innermost out");
  WOOTZ_ASSIGN_OR_RETURN(s.convolved, chain_middle(parts.first, args.inputs));
  const Dims &y = s.convolved, &z = args.outputs[0];
  if (z.rank() != 4 || y.rank() != 4 || z[0] != y[0] || z[1] != y[1])
    return invalid_argument("windows of {} give {}", y.to_string(), z.to_string());
  parts.first.outputs[0].layout = Layout::kChannelsLast;
  WOOTZ_ASSIGN_OR_RETURN(s.stem, stem_problem(parts.first));
  s.stem.convolution.outputs[0].layout = Layout::kChannelsLast;
  WOOTZ_ASSIGN_OR_RETURN(s.of, stem_at(s.stem, with_result(args, s.convolved)));
  return s;
}

// Tiles that begin where windows do, and whose windows are whole.
StemWriting pooled_writing(const PooledStem& s, const Dims& z, int64_t parts) {
  StemWriting how;
  how.parts = parts;
  const int64_t high = (Stem::kWarps * parts - s.window) / s.step + 1, wide = (Stem::kWide - s.window) / s.step + 1;
  how.step_high = high * s.step;
  how.step_wide = wide * s.step;
  how.before_h = s.top;
  how.before_w = s.left;
  how.images = z[0];
  how.tiles_h = (z[2] + high - 1) / high;
  how.tiles_w = (z[3] + wide - 1) / wide;
  return how;
}

// Its results are in shared memory beside.
Result<Reading> pooled_reading(const PooledStem& s, const Dims& x, const Dims& z, int64_t parts) {
  return reading_of(s.of, x, pooled_writing(s, z, parts),
                    {Stem::kWarps * parts * Stem::kWide * s.of.at_once() * 2, 24});
}

}  // namespace

Result<std::optional<PackedForm>> pack_stem(const Problem& p, int input, const HostTensor& source) {
  if (input != 1) return std::optional<PackedForm>{};
  WOOTZ_ASSIGN_OR_RETURN(const StemProblem stem, stem_problem(p));
  WOOTZ_ASSIGN_OR_RETURN(const Stem s, stem_of_halves(stem, source.dims()));
  return std::optional(packed_by(
      static_cast<size_t>(s.weight_bytes()),
      [s, source]() -> Result<std::vector<std::byte>> { return stem_by_columns(s, source); }, kStemForm));
}

Status generate_stem(const Problem& p, const BindArgs& args, int64_t parts, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const StemProblem stem, stem_problem(p));
  WOOTZ_ASSIGN_OR_RETURN(const Stem s, stem_at(stem, args));
  if (args.outputs[0].volume() == 0) return Status();
  WOOTZ_ASSIGN_OR_RETURN(const Reading reading,
                         reading_of(s, args.inputs[0], stem_writing(args.outputs[0], parts), {}));
  KernelSource source("conv/stem.cuh", true);
  WOOTZ_RETURN_IF_ERROR(write_halves(stem, args, s, reading, &source));
  return finish(s, reading, &source, launches);
}

double estimate_stem(const Problem& p, int64_t parts) {
  const std::vector<Dims> in = operand_dims(p.inputs), out = operand_dims(p.outputs);
  const Result<StemProblem> stem = stem_problem(p);
  if (!stem.ok()) return 0;
  const Result<Stem> s = stem_at(*stem, {in, out, {}});
  return s.ok() ? estimate(*s, reading_of(*s, in[0], stem_writing(out[0], parts), {})) : 0;
}

Result<std::optional<PackedForm>> pack_pooled_stem(const Problem& p, int input, const HostTensor& source) {
  WOOTZ_ASSIGN_OR_RETURN(const ChainParts parts, chain_parts(p));
  return pack_stem(parts.first, input, source);
}

Status generate_pooled_stem(const Problem& p, const BindArgs& args, int64_t parts, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const PooledStem s, pooled_stem(p, args));
  const Dims& z = args.outputs[0];
  if (z.volume() == 0) return Status();
  WOOTZ_ASSIGN_OR_RETURN(const Reading reading, pooled_reading(s, args.inputs[0], z, parts));
  KernelSource source("conv/stem_pool.cuh", true);
  source.fixed("kPool", s.window);
  source.fixed("kPoolStride", s.step);
  source.fixed("kLeast", p.outputs[0].dtype == DType::kF16 ? 0xfc00 : 0xff80);
  source.number("pool_h", z[2]);
  source.number("pool_w", z[3]);
  WOOTZ_RETURN_IF_ERROR(write_halves(s.stem, with_result(args, s.convolved), s.of, reading, &source));
  return finish(s.of, reading, &source, launches);
}

double estimate_pooled_stem(const Problem& p, int64_t parts) {
  const std::vector<Dims> in = operand_dims(p.inputs), out = operand_dims(p.outputs);
  const Result<PooledStem> s = pooled_stem(p, {in, out, {}});
  return s.ok() ? estimate(s->of, pooled_reading(*s, in[0], out[0], parts)) : 0;
}

}  // namespace wootz::cuda
