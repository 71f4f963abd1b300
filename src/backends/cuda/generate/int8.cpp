// Families gemm and conv of 8-bit operands: which of them, what their constants look like, and which tile suits.
#include "backends/cuda/generate/int8.h"

#include <algorithm>
#include <cmath>

#include "backend/quantized.h"
#include "backends/cuda/generate/expression.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/window.h"
#include "backends/cuda/support/int8_weights.h"

namespace wootz::cuda {
namespace {

int64_t from_end(const Dims& d, size_t i) { return d[d.size() - i]; }

Result<Int8Gemm> describe_convolution(const Problem& p, const BindArgs& args) {
  const Dims &x = args.inputs[0], &f = args.inputs[1], &y = args.outputs[0];
  const auto n = x.size() - 2;
  if (x.rank() < 3 || x.rank() > 4 || f.rank() != x.rank() || y.rank() != x.rank() || x[0] != y[0])
    return unsupported("{} by {}", x.to_string(), f.to_string());
  if (p.inputs[0].layout != Layout::kChannelsLast || p.outputs[0].layout != Layout::kChannelsLast)
    return unsupported("8-bit images of rows of pixels");
  if (p.as<ConvParams>().transposed || p.as<ConvParams>().groups != 1)
    return unsupported("a transposed or grouped convolution on tensor cores");
  if (!p.inputs[1].constant) return unsupported("weights that are not constant");
  const Ints &strides = p.as<ConvParams>().strides, dilations = p.as<ConvParams>().dilations,
             pads = p.as<ConvParams>().pads;
  WOOTZ_RETURN_IF_ERROR(check_values(strides, n, 1));
  WOOTZ_RETURN_IF_ERROR(check_values(dilations, n, 1));
  WOOTZ_RETURN_IF_ERROR(check_values(pads, 2 * n, 0));
  if (f[0] != y[1] || f[1] != x[1]) return invalid_argument("weights {} for {}", f.to_string(), x.to_string());
  if (p.num_main == 3 && args.inputs[2].volume() != y[1])
    return invalid_argument("a bias of {} for {} channels", args.inputs[2].to_string(), y[1]);
  Int8Gemm b;
  b.rows = y.volume() / std::max<int64_t>(1, y[1]);
  b.columns = y[1];
  b.channels = x[1];
  b.taps_w = f[n + 1];
  b.in_w = x[n + 1];
  b.out_w = y[n + 1];
  b.stride_w = strides[n - 1];
  b.dilation_w = dilations[n - 1];
  b.left = pads[n - 1];
  if (n == 2) {
    b.taps_h = f[2];
    b.in_h = x[2];
    b.out_h = y[2];
    b.stride_h = strides[0];
    b.dilation_h = dilations[0];
    b.top = pads[0];
  }
  b.padded = std::any_of(pads.begin(), pads.end(), [](int64_t v) { return v != 0; });
  b.window = b.padded || b.taps_h * b.taps_w != 1 || b.stride_h != 1 || b.stride_w != 1;
  if (!b.window && (b.in_h != b.out_h || b.in_w != b.out_w))
    return invalid_argument("{} gives {}", x.to_string(), y.to_string());
  return b;
}

Result<Int8Gemm> describe_matrices(const Problem& p, const BindArgs& args) {
  const Dims &a = args.inputs[0], &w = args.inputs[1], &y = args.outputs[0];
  if (a.rank() < 2 || w.rank() < 2 || y.rank() < 2 || p.as<GemmParams>().trans_a)
    return unsupported("{} by {}", a.to_string(), w.to_string());
  for (const TensorDesc& t : p.inputs)
    if (!t.constant && t.layout != Layout::kLinear) return unsupported("layout {}", layout_name(t.layout));
  if (p.outputs[0].layout != Layout::kLinear) return unsupported("layout {}", layout_name(p.outputs[0].layout));
  const bool turned = p.as<GemmParams>().trans_b;
  Int8Gemm b;
  b.channels = from_end(a, 1);
  b.columns = from_end(w, turned ? 2 : 1);
  b.packed = p.inputs[1].constant;
  if (from_end(w, turned ? 1 : 2) != b.channels || from_end(y, 1) != b.columns || from_end(y, 2) != from_end(a, 2))
    return invalid_argument("{} by {} gives {}", a.to_string(), w.to_string(), y.to_string());
  if (b.packed) {
    if (w.volume() != b.channels * b.columns) return unsupported("several constant matrices");
    b.rows = b.columns == 0 ? 0 : y.volume() / b.columns;
    if (a.volume() != b.rows * b.channels) return unsupported("{} gives {}", a.to_string(), y.to_string());
    return b;
  }
  if (!turned || b.channels % 16 != 0) return unsupported("a second operand whose columns are not rows of 16 bytes");
  b.rows = from_end(y, 2);
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> as, batch_strides(a, y));
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> ws, batch_strides(w, y));
  for (size_t i = 0; i + 2 < y.size(); ++i) {
    b.batch *= y[i];
    b.matrices.push_back({y[i], {as[i], ws[i]}});
  }
  b.matrices = merge_axes(std::move(b.matrices));
  return b;
}

// A kernel's start, what its multiprocessors compute one behind the other, and bytes; on an H200.
double tile_us(const Problem& p, const Int8Gemm& b, const Int8Tile& t) {
  constexpr double kProcessors = 132, kMacsPerUs = 2500.0 * 1755, kIterationUs = 0.15;
  const auto parts = [](int64_t count, int64_t each) { return static_cast<double>((count + each - 1) / each); };
  const double blocks = parts(b.rows, t.rows) * parts(b.columns, t.columns) * static_cast<double>(b.batch);
  const double each = std::ceil(blocks / kProcessors), iterations = parts(b.pitch(), 64 * t.shares);
  const double sums = each * iterations * 64.0 * t.shares * t.rows * t.columns / kMacsPerUs;
  const double waiting = std::ceil(each / 2) * (1 + iterations * kIterationUs * (b.by_sixteen() ? 1 : 4));
  double bytes = 0;
  for (const TensorDesc& d : p.inputs) bytes += static_cast<double>(dtype_bytes(d.dtype, d.dims.volume()));
  for (const TensorDesc& d : p.outputs) bytes += static_cast<double>(dtype_bytes(d.dtype, d.dims.volume()));
  return 2 + std::max({sums, waiting, bytes / 3e6});
}

}  // namespace

PointwiseExpr with_constants_as_operands(const PointwiseExpr& epilogue, std::vector<float>* constants) {
  PointwiseExpr e = epilogue;
  for (PwInstr& in : e.code) {
    if (in.op != PwOp::kConst || in.type != DType::kF32) continue;
    constants->push_back(static_cast<float>(in.imm0));
    in = {PwOp::kInput, DType::kF32, e.num_inputs++};
  }
  return e;
}

Result<Int8Gemm> describe_int8(const Problem& p, const BindArgs& args) {
  const bool bias = has_bias(p);
  if (p.num_main != (bias ? 3 : 2) || p.inputs.size() < static_cast<size_t>(p.num_main) || p.outputs.size() != 1)
    return invalid_argument("product of {} operands", p.num_main);
  const DType x = p.inputs[0].dtype;
  if (!is_int8(x) || p.inputs[1].dtype != DType::kI8)
    return unsupported("{} by {}", dtype_name(x), dtype_name(p.inputs[1].dtype));
  if (bias && p.inputs[2].dtype != DType::kF32) return unsupported("a bias of {}", dtype_name(p.inputs[2].dtype));
  WOOTZ_RETURN_IF_ERROR(check_epilogue(p, DType::kF32));
  WOOTZ_ASSIGN_OR_RETURN(Int8Gemm b,
                         p.family() == Family::kConv ? describe_convolution(p, args) : describe_matrices(p, args));
  WOOTZ_ASSIGN_OR_RETURN(const GemmScales s, int8_scales(p, b.columns));
  constexpr int64_t kMost = int64_t{1} << 31;
  if (b.depth() < 1 || b.depth() > 65536) return unsupported("sums of {} products", b.depth());
  if (b.rows * b.batch >= kMost || b.pitch() * b.columns >= kMost || args.inputs[0].volume() >= kMost ||
      b.batch > 65535 || b.columns > 65535 * 32)
    return unsupported("{} rows of {} results", b.rows * b.batch, b.columns);
  b.zero = s.x_zero;
  b.scale = s.of(0);
  if (!b.packed && b.zero != 0) return unsupported("a product of two activations with a zero point");
  // Packed weights of a plan's: as long as the kernel believes.
  if (b.packed && args.constant_bytes.size() > 1 && args.constants[1] != nullptr) {
    std::vector<float> constants;
    with_constants_as_operands(p.epilogue, &constants);
    const auto floats = static_cast<size_t>(2 * b.columns) + constants.size();
    if (args.constant_bytes[1] < static_cast<size_t>(b.columns * b.pitch()) + floats * sizeof(float))
      return invalid_argument("{} bytes of packed weights for {}", args.constant_bytes[1], args.inputs[1].to_string());
  }
  return b;
}

namespace {

// Columns with their taps outermost, padded with zeros; then a scale and a correction for each column, and the
// epilogue's constants.
Result<std::vector<std::byte>> columns_with_tables(const Problem& p, const HostTensor& source, const GemmScales& s) {
  Int8Columns packed = int8_columns(p, source, kPitchStep);
  std::vector<float> scales, constants;
  std::vector<int32_t> corrections;
  for (int64_t n = 0; n < packed.columns; ++n) {
    scales.push_back(static_cast<float>(s.of(n)));
    corrections.push_back(static_cast<int32_t>(packed.sums[static_cast<size_t>(n)] * s.x_zero));
  }
  std::vector<std::byte>& out = packed.bytes;
  with_constants_as_operands(p.epilogue, &constants);
  const auto add = [&](const void* data, size_t bytes) {
    const auto* at = static_cast<const std::byte*>(data);
    out.insert(out.end(), at, at + bytes);
  };
  add(scales.data(), scales.size() * sizeof(float));
  add(corrections.data(), corrections.size() * sizeof(int32_t));
  add(constants.data(), constants.size() * sizeof(float));
  return std::move(out);
}

}  // namespace

Result<std::optional<PackedForm>> pack_int8(const Problem& p, int input, const HostTensor& source) {
  if (input != 1) return std::optional<PackedForm>{};
  const int64_t columns = columns_of(p, source.dims());
  WOOTZ_ASSIGN_OR_RETURN(const GemmScales s, int8_scales(p, columns));
  const int64_t depth = columns == 0 ? 0 : source.volume() / columns;
  std::vector<float> constants;
  with_constants_as_operands(p.epilogue, &constants);
  const auto tables = (static_cast<size_t>(2 * columns) + constants.size()) * sizeof(float);
  const auto weights = static_cast<size_t>(columns * ((depth + kPitchStep - 1) / kPitchStep * kPitchStep));
  return std::optional(packed_by(weights + tables, [&p, source, s] { return columns_with_tables(p, source, s); }));
}

Status generate_int8(const Problem& p, const BindArgs& args, size_t tile, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const Int8Gemm b, describe_int8(p, args));
  if (b.rows * b.batch * b.columns == 0) return Status();
  return write_int8(p, args, b, kInt8Tiles[tile], launches);
}

// 0: other tiles are clearly better at these extents, and need not be compiled to know it.
double estimate_int8(const Problem& p, size_t tile) {
  std::vector<Dims> in, out;
  for (const TensorDesc& t : p.inputs) in.push_back(t.dims);
  for (const TensorDesc& t : p.outputs) out.push_back(t.dims);
  const Result<Int8Gemm> b = describe_int8(p, {in, out, {}});
  if (!b.ok()) return 0;
  double best = INFINITY;
  for (const Int8Tile& t : kInt8Tiles) best = std::min(best, tile_us(p, *b, t));
  const double own = tile_us(p, *b, kInt8Tiles[tile]);
  return own <= 1.4 * best ? own : 0;
}

}  // namespace wootz::cuda
