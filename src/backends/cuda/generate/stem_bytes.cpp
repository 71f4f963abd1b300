// Family conv of few channels in 8 bits, and family chain of an expression that makes such bytes and the convolution of
// them: conv/stem_bytes.cuh.
#include <algorithm>

#include "backend/operand_dims.h"
#include "backend/quantized.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/stem.h"
#include "backends/cuda/generate/tile.h"
#include "backends/cuda/generate/walkers.h"
#include "backends/cuda/support/int8_weights.h"

namespace wootz::cuda {
namespace {

constexpr int64_t kMultiprocessors = 132;

Result<StemProblem> bytes_of(const Problem& p) {
  WOOTZ_ASSIGN_OR_RETURN(StemProblem s, stem_problem(p));
  const std::vector<TensorDesc>& inputs = s.convolution.inputs;
  if (inputs.size() < 2 || !is_int8(inputs[0].dtype) || inputs[1].dtype != DType::kI8)
    return unsupported("other than bytes by bytes");
  return s;
}

Result<Stem> stem_of_bytes(const StemProblem& c, const Dims& w) {
  WOOTZ_ASSIGN_OR_RETURN(Stem s, stem_of(c.convolution, w));
  s.place = 4;
  return s;
}

// With a scale and a correction for each column behind them.
int64_t packed_bytes(const Stem& s) { return s.weight_bytes() + s.columns * 8; }

Result<Stem> stem_at(const StemProblem& c, const BindArgs& args) {
  const Problem& p = c.convolution;
  WOOTZ_ASSIGN_OR_RETURN(const Stem s, stem_of_bytes(c, args.inputs[1]));
  WOOTZ_RETURN_IF_ERROR(check_stem(p, args, s));
  WOOTZ_RETURN_IF_ERROR(check_epilogue(p, DType::kF32));
  if (p.num_main == 3 && p.inputs[2].dtype != DType::kF32)
    return unsupported("a bias of {}", dtype_name(p.inputs[2].dtype));
  WOOTZ_RETURN_IF_ERROR(int8_scales(p, s.columns).status());
  if (args.constant_bytes.size() > 1 && args.constants[1] != nullptr &&
      args.constant_bytes[1] < static_cast<size_t>(packed_bytes(s)))
    return invalid_argument("{} bytes of packed weights for {}", args.constant_bytes[1], args.inputs[1].to_string());
  return s;
}

Result<std::vector<std::byte>> with_tables(const Problem& p, const Stem& s, const HostTensor& weights) {
  WOOTZ_ASSIGN_OR_RETURN(const GemmScales scales, int8_scales(p, s.columns));
  const Int8Columns columns = int8_columns(p, weights, 1);
  std::vector<float> own;
  std::vector<int32_t> corrections;
  for (int64_t n = 0; n < s.columns; ++n) {
    own.push_back(static_cast<float>(scales.of(n)));
    corrections.push_back(static_cast<int32_t>(columns.sums[static_cast<size_t>(n)] * scales.x_zero));
  }
  std::vector<std::byte> packed = stem_by_columns(s, weights);
  const auto add = [&](const void* data, size_t bytes) {
    const auto* const at = static_cast<const std::byte*>(data);
    packed.insert(packed.end(), at, at + bytes);
  };
  add(own.data(), own.size() * sizeof(float));
  add(corrections.data(), corrections.size() * sizeof(int32_t));
  return packed;
}

// Of a multiprocessor, by what a thread keeps in registers.
unsigned resident_blocks(const StemWriting& how) { return how.parts == 2 ? 3 : 4; }

// Two rows for each warp, where there are enough of them: weights are then read half as often.
StemWriting writing_of(const Stem& s, const Dims& x, const Dims& y) {
  constexpr int64_t kEnough = 4;  // tiles for each multiprocessor
  StemWriting how = stem_writing(y, 2);
  if (how.tiles() * s.column_tiles() < kEnough * kMultiprocessors) how = stem_writing(y, 1);
  how.unit = x[3] % 4 == 0 ? 4 : 1;
  const int64_t resident = walked_multiprocessors() * resident_blocks(how);
  how.blocks = std::min(how.tiles(), std::max<int64_t>(1, resident / s.column_tiles()));
  return how;
}

}  // namespace

Result<std::optional<PackedForm>> pack_byte_stem(const Problem& p, int input, const HostTensor& source) {
  if (input != 1) return std::optional<PackedForm>{};
  WOOTZ_ASSIGN_OR_RETURN(StemProblem c, bytes_of(p));
  WOOTZ_ASSIGN_OR_RETURN(const Stem s, stem_of_bytes(c, source.dims()));
  return std::optional(packed_by(
      static_cast<size_t>(packed_bytes(s)),
      [c = std::move(c.convolution), s, source] { return with_tables(c, s, source); }, kStemForm));
}

Status generate_byte_stem(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const StemProblem c, bytes_of(p));
  WOOTZ_ASSIGN_OR_RETURN(const Stem s, stem_at(c, args));
  WOOTZ_ASSIGN_OR_RETURN(const GemmScales scales, int8_scales(c.convolution, s.columns));
  const Dims &x = args.inputs[0], &y = args.outputs[0];
  if (y.volume() == 0) return Status();
  const StemWriting how = writing_of(s, x, y);
  const int64_t shift = how.unit == 4 ? (4 - s.left % 4) % 4 : 0;
  const bool sign = c.convolution.inputs[0].dtype == DType::kI8, corrected = scales.x_zero != 0;
  KernelSource source("conv/stem_bytes.cuh", true);
  source.type("X", storage_type(c.read));
  source.type("W", "s8");
  source.type("Part", "int");
  source.type("Byte", storage_type(c.convolution.inputs[0].dtype));
  WOOTZ_RETURN_IF_ERROR(write_read(c, "u8", "byte_of", &source));
  source.fixed("kShift", shift);
  source.fixed("kOutside", scales.x_zero & 255);
  source.fixed("kScaled", 1);
  source.fixed("kCorrected", corrected);
  source.fixed("kShort", !corrected && s.channels * s.taps_h * s.taps_w * (sign ? 128 : 255) * 128 < (1 << 22));
  source.fixed_real("kScale", 1);
  write_stem(p, args, s, how, &source);
  WOOTZ_RETURN_IF_ERROR(write_by_eight(c.convolution, args, s.columns, {.rounded = true}, &source));
  const int64_t high = (Stem::kWarps * how.parts - 1) * s.stride_h + s.taps_h;
  const int64_t wide = (shift + (Stem::kWide - 1) * s.stride_w + s.slots() + 3) / 4 * 4;
  LaunchSize size = stem_launch(s, how, high * wide * 4);
  size.at_once = resident_blocks(how);
  return source.finish(size, launches);
}

// A start, and for each tile its pixels and its products.
double estimate_byte_stem(const Problem& p) {
  constexpr double kStartUs = 2.6, kTileUs = 2e-3, kProductsUs = 6e-5;
  const std::vector<Dims> in = operand_dims(p.inputs), out = operand_dims(p.outputs);
  const Result<StemProblem> c = bytes_of(p);
  if (!c.ok()) return 0;
  const Result<Stem> s = stem_at(*c, {in, out, {}});
  if (!s.ok()) return 0;
  const auto products = static_cast<double>(s->steps() * s->at_once() / 16);
  const auto tiles = static_cast<double>(stem_writing(out[0], 1).tiles() * s->column_tiles());
  return kStartUs + tiles * (kTileUs + kProductsUs * products);
}

}  // namespace wootz::cuda
