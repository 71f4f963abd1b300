// Convolutions and products in i8. cuDNN sums in i32 and goes on in f32: scale, zero point, bias, then what the
// epilogue says, up to a result in i8. A product with a constant matrix is asked for as a convolution by single pixels.
#include <algorithm>

#include "backend/quantized.h"
#include "backends/cuda/cudnn/describe.h"
#include "backends/cuda/support/int8_weights.h"

namespace wootz::cuda {
namespace {

std::vector<int64_t> list(const Dims& d) { return {d.begin(), d.end()}; }

bool is_product(const Problem& p) { return p.family() == Family::kGemm; }

// A value for each of `count` channels, in f32.
CudnnTensor row(int index, int64_t count, size_t rank, int64_t offset) {
  std::vector<int64_t> dims(rank, 1), strides(rank, count);
  dims[1] = count;
  strides[1] = 1;
  return {false, index, DType::kF32, std::move(dims), std::move(strides), offset};
}

// Tables lie after the weights, each a row of floats.
class Tables {
 public:
  Tables(CudnnGraph* graph, int64_t weights) : graph_(graph), at_((weights + 15) / 16 * 16) {}
  int add(int64_t count, size_t rank) {
    graph_->operands.push_back(row(1, count, rank, at_));
    skip(count);
    return static_cast<int>(graph_->operands.size()) - 1;
  }
  // It is there, and no stage reads it: engines that compile a kernel refuse to be given the address.
  void skip(int64_t count) { at_ += (count * 4 + 15) / 16 * 16; }

 private:
  CudnnGraph* graph_;
  int64_t at_;
};

// The matrices of a product as images of one pixel.
Dims as_pixels(const Dims& d, int64_t columns) { return {columns == 0 ? 0 : d.volume() / columns, columns, 1, 1}; }

Result<CudnnTensor> product_operand(const Problem& p, int input, const Dims& d, const Dims& y) {
  const int64_t n = y.back();
  const bool row = d.volume() == n && !d.empty() && d.back() == n, one = d.volume() == 1;
  if (!row && !one && !(d == y)) return unsupported("an operand of shape {} for {}", d.to_string(), y.to_string());
  const Dims images = one ? Dims{1, 1, 1, 1} : as_pixels(d, n);
  const TensorDesc& t = p.inputs[static_cast<size_t>(input)];
  return CudnnTensor{false, input,      t.dtype, list(images), list(layout_strides(Layout::kChannelsLast, images)),
                     0,     !t.constant};
}

Status place_matrices(const Problem& p, std::span<const Dims> in, const Dims& y, CudnnGraph* g) {
  const Dims &a = in[0], &b = in[1];
  if (a.rank() < 2 || b.rank() != 2 || y.rank() != a.rank() || p.as<GemmParams>().trans_a)
    return unsupported("{} by {}", a.to_string(), b.to_string());
  for (const TensorDesc& t : p.inputs)
    if (!t.constant && t.layout != Layout::kLinear) return unsupported("layout {}", layout_name(t.layout));
  if (p.outputs[0].layout != Layout::kLinear) return unsupported("layout {}", layout_name(p.outputs[0].layout));
  const int64_t n = b[p.as<GemmParams>().trans_b ? 0 : 1], k = b[p.as<GemmParams>().trans_b ? 1 : 0];
  if (a.back() != k || y.back() != n || a.volume() / std::max<int64_t>(1, k) != y.volume() / std::max<int64_t>(1, n))
    return invalid_argument("{} by {} gives {}", a.to_string(), b.to_string(), y.to_string());
  const Dims x = as_pixels(a, k), w{n, k, 1, 1}, out = as_pixels(y, n);
  g->x = {false, 0, DType::kI8, list(x), list(layout_strides(Layout::kChannelsLast, x)), 0};
  g->w = {false, 1, DType::kI8, list(w), list(layout_strides(Layout::kChannelsLast, w)), 0};
  g->y = {true, 0, p.outputs[0].dtype, list(out), list(layout_strides(Layout::kChannelsLast, out)), 0};
  g->pre_pads = g->post_pads = {0, 0};
  g->strides = g->dilations = {1, 1};
  return Status();
}

Status place_images(const Problem& p, std::span<const Dims> in, const Dims& y, CudnnGraph* g) {
  const Dims &x = in[0], &f = in[1];
  if (p.as<ConvParams>().transposed) return unsupported("a transposed convolution");
  if (x.rank() < 3 || x.rank() > 5 || f.rank() != x.rank() || y.rank() != x.rank())
    return unsupported("convolution of {}", x.to_string());
  if (p.inputs[0].layout != Layout::kChannelsLast || p.outputs[0].layout != Layout::kChannelsLast)
    return unsupported("images in i8 with their channels apart");
  const auto n = x.size() - 2;
  const Ints& pads = p.as<ConvParams>().pads;
  g->strides = p.as<ConvParams>().strides;
  g->dilations = p.as<ConvParams>().dilations;
  if (pads.size() != 2 * n || g->strides.size() != n || g->dilations.size() != n)
    return invalid_argument("a window of {} axes for {}", g->strides.size(), x.to_string());
  g->pre_pads.assign(pads.begin(), pads.begin() + static_cast<ptrdiff_t>(n));
  g->post_pads.assign(pads.begin() + static_cast<ptrdiff_t>(n), pads.end());
  for (const int64_t pad : pads)
    if (const Floats& zero = p.as<ConvParams>().x_zero; pad != 0 && !zero.empty() && zero[0] != 0)
      return unsupported("padding with a zero point of {}", zero[0]);
  g->x = {false, 0, DType::kI8, list(x), list(layout_strides(Layout::kChannelsLast, x)), 0};
  g->w = {false, 1, DType::kI8, list(f), list(layout_strides(Layout::kChannelsLast, f)), 0};
  g->y = {true, 0, p.outputs[0].dtype, list(y), list(layout_strides(Layout::kChannelsLast, y)), 0};
  return Status();
}

// The factors of the epilogue, in the order of their tables.
std::vector<float> factors_of(const Int8Epilogue& epilogue) {
  std::vector<float> factors;
  for (const Stage& s : epilogue.stages)
    if (s.factor != 0) factors.push_back(static_cast<float>(s.factor));
  if (epilogue.step != 0) factors.push_back(static_cast<float>(1 / epilogue.step));
  return factors;
}

}  // namespace

Result<CudnnGraph> describe_int8(const Problem& p, std::span<const Dims> in, const Dims& y) {
  const bool bias = has_bias(p);
  if (p.num_main != (bias ? 3 : 2) || p.inputs.size() < static_cast<size_t>(p.num_main) || p.outputs.size() != 1 ||
      in.size() != p.inputs.size())
    return invalid_argument("convolution of {} operands", p.num_main);
  if (p.inputs[0].dtype != DType::kI8 || p.inputs[1].dtype != DType::kI8)
    return unsupported("{} by {}", dtype_name(p.inputs[0].dtype), dtype_name(p.inputs[1].dtype));
  if (!p.inputs[1].constant) return unsupported("weights that are not constant");
  if (in[0].volume() == 0 || y.volume() == 0) return unsupported("nothing to compute");
  const std::optional<Int8Epilogue> epilogue = int8_epilogue(p);
  if (!epilogue) return unsupported("this epilogue is no sequence of stages");
  const DType out = p.outputs[0].dtype;
  if (epilogue->step != 0 ? out != DType::kI8 : !is_model_float(out))
    return unsupported("a result of {}", dtype_name(out));
  CudnnGraph g;
  WOOTZ_RETURN_IF_ERROR(is_product(p) ? place_matrices(p, in, y, &g) : place_images(p, in, y, &g));
  const int64_t channels = g.w.dims[0];
  WOOTZ_ASSIGN_OR_RETURN(const GemmScales scales, int8_scales(p, channels));
  const size_t rank = g.x.dims.size();
  Tables tables(&g, in[1].volume());
  g.stages.push_back({PwOp::kMul, tables.add(channels, rank), 0, 0, -1});
  if (scales.x_zero != 0) {
    g.stages.push_back({PwOp::kAdd, tables.add(channels, rank), 0, 0, -1});
  } else {
    tables.skip(channels);
  }
  std::vector<int> factors;
  for (size_t i = 0; i < factors_of(*epilogue).size(); ++i) factors.push_back(tables.add(1, rank));
  const auto add = [&](const Stage& s, int factor) -> Status {
    CudnnStage made{s.op, -1, s.imm0, s.imm1, factor};
    if (s.input >= 0) {
      const Dims& d = in[static_cast<size_t>(s.input)];
      WOOTZ_ASSIGN_OR_RETURN(CudnnTensor t,
                             is_product(p) ? product_operand(p, s.input, d, y) : cudnn_operand(p, s.input, d, y));
      made.operand = static_cast<int>(g.operands.size());
      g.operands.push_back(std::move(t));
    }
    g.stages.push_back(made);
    return Status();
  };
  if (bias) {
    if (p.inputs[2].dtype != DType::kF32 || in[2].volume() != channels)
      return unsupported("a bias of {}", in[2].to_string());
    g.stages.push_back({PwOp::kAdd, static_cast<int>(g.operands.size()), 0, 0, -1});
    g.operands.push_back(row(2, channels, rank, 0));
    g.operands.back().made = !p.inputs[2].constant;
  }
  size_t next = 0;
  for (const Stage& s : epilogue->stages) WOOTZ_RETURN_IF_ERROR(add(s, s.factor != 0 ? factors[next++] : -1));
  if (epilogue->step != 0) g.stages.push_back({PwOp::kMul, factors[next], 0, 0, -1});
  widen_to_images(&g);
  return g;
}

namespace {

// Bytes of the weights and, each at a multiple of 16 after them, of their tables.
size_t packed_bytes(const HostTensor& source, int64_t columns, size_t factors) {
  const auto end_after = [](size_t at, size_t floats) { return (at + 15) / 16 * 16 + floats * sizeof(float); };
  const auto channels = static_cast<size_t>(columns);
  size_t bytes = end_after(end_after(source.bytes(), channels), channels);
  for (size_t f = 0; f < factors; ++f) bytes = end_after(bytes, 1);
  return bytes;
}

std::vector<std::byte> weights_with_tables(const Problem& p, const HostTensor& source, const GemmScales& scales,
                                           const Int8Epilogue& epilogue) {
  Int8Columns packed = int8_columns(p, source, 1);
  std::vector<std::byte>& out = packed.bytes;
  std::vector<float> scale, shift;
  for (int64_t m = 0; m < packed.columns; ++m) {
    scale.push_back(static_cast<float>(scales.of(m)));
    shift.push_back(
        static_cast<float>(-scales.of(m) * scales.x_zero * static_cast<double>(packed.sums[static_cast<size_t>(m)])));
  }
  const auto add = [&](const float* values, size_t count) {
    out.resize((out.size() + 15) / 16 * 16);
    const auto* bytes = reinterpret_cast<const std::byte*>(values);
    out.insert(out.end(), bytes, bytes + count * sizeof(float));
  };
  add(scale.data(), scale.size());
  add(shift.data(), shift.size());
  for (const float factor : factors_of(epilogue)) add(&factor, 1);
  return std::move(out);
}

}  // namespace

Result<PackedForm> pack_int8_for_cudnn(const Problem& p, const HostTensor& source) {
  const int64_t columns = columns_of(p, source.dims());
  WOOTZ_ASSIGN_OR_RETURN(const GemmScales scales, int8_scales(p, columns));
  const std::optional<Int8Epilogue> epilogue = int8_epilogue(p);
  if (!epilogue) return unsupported("this epilogue is no sequence of stages");
  return packed_by(packed_bytes(source, columns, factors_of(*epilogue).size()),
                   [p, source, scales, epilogue = *epilogue]() -> Result<std::vector<std::byte>> {
                     return weights_with_tables(p, source, scales, epilogue);
                   });
}

size_t packed_bytes(const CudnnGraph& g) {
  size_t bytes = 0;
  for (const CudnnTensor& t : g.operands) {
    if (t.index != 1 || t.output || t.offset == 0) continue;
    bytes = std::max(bytes, static_cast<size_t>(t.offset) + static_cast<size_t>(t.dims[1]) * sizeof(float));
  }
  return bytes;
}

}  // namespace wootz::cuda
