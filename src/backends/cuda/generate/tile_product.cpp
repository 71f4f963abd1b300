// A product or convolution as gemm/tile.cuh has it.
#include <algorithm>

#include "backend/quantized.h"
#include "backends/cuda/generate/expression.h"
#include "backends/cuda/generate/tile.h"
#include "backends/cuda/generate/window.h"

namespace wootz::cuda {
namespace {

int64_t from_end(const Dims& d, size_t i) { return d[d.size() - i]; }

Result<TileProduct> describe_convolution(const Problem& p, const BindArgs& args) {
  const Dims &x = args.inputs[0], &f = args.inputs[1], &y = args.outputs[0];
  const auto n = x.size() - 2;
  if (x.rank() < 3 || x.rank() > 4 || f.rank() != x.rank() || y.rank() != x.rank() || x[0] != y[0])
    return unsupported("{} by {}", x.to_string(), f.to_string());
  const Layout made = p.outputs[0].layout;
  const bool planes = made == Layout::kLinear && dtype_bits(p.outputs[0].dtype) > 8;
  if (p.inputs[0].layout != Layout::kChannelsLast || (made != Layout::kChannelsLast && !planes))
    return unsupported("images of rows of pixels");
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
  TileProduct b;
  b.size = static_cast<int64_t>(dtype_bytes(p.inputs[0].dtype, 1));
  b.planes = planes;
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

Result<TileProduct> describe_matrices(const Problem& p, const BindArgs& args) {
  const Dims &a = args.inputs[0], &w = args.inputs[1], &y = args.outputs[0];
  if (a.rank() < 2 || w.rank() < 2 || y.rank() < 2 || p.as<GemmParams>().trans_a)
    return unsupported("{} by {}", a.to_string(), w.to_string());
  for (const TensorDesc& t : p.inputs)
    if (!t.constant && t.layout != Layout::kLinear) return unsupported("layout {}", layout_name(t.layout));
  if (p.outputs[0].layout != Layout::kLinear) return unsupported("layout {}", layout_name(p.outputs[0].layout));
  const bool turned = p.as<GemmParams>().trans_b;
  TileProduct b;
  b.size = static_cast<int64_t>(dtype_bytes(p.inputs[0].dtype, 1));
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
  if (!turned || !b.by_sixteen()) return unsupported("a second operand whose columns are not rows of 16 bytes");
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

}  // namespace

Result<TileProduct> describe_tile(const Problem& p, const BindArgs& args) {
  const bool bias = has_bias(p);
  if (p.num_main != (bias ? 3 : 2) || p.inputs.size() < static_cast<size_t>(p.num_main) || p.outputs.size() != 1)
    return invalid_argument("product of {} operands", p.num_main);
  WOOTZ_ASSIGN_OR_RETURN(const TileProduct b,
                         p.family() == Family::kConv ? describe_convolution(p, args) : describe_matrices(p, args));
  constexpr int64_t kMost = int64_t{1} << 31;
  if (b.depth() < 1 || b.depth() > 65536) return unsupported("sums of {} products", b.depth());
  if (b.rows * b.batch >= kMost || b.pitch() * b.columns >= kMost || args.inputs[0].volume() >= kMost ||
      b.batch > 65535 || b.columns > 65535 * 32)
    return unsupported("{} rows of {} results", b.rows * b.batch, b.columns);
  return b;
}

PointwiseExpr with_constants_as_operands(const PointwiseExpr& epilogue, std::vector<float>* constants) {
  PointwiseExpr e = epilogue;
  const auto is_odd_scale = [&](const PwInstr& in) {
    return !is_ordinary_scale(in.imm0) &&
           std::any_of(epilogue.code.begin(), epilogue.code.end(),
                       [&](const PwInstr& q) { return q.op == PwOp::kQuantize && &in == &e.code[q.b]; });
  };
  for (PwInstr& in : e.code) {
    if (in.op != PwOp::kConst || in.type != DType::kF32 || is_odd_scale(in)) continue;
    constants->push_back(static_cast<float>(in.imm0));
    in = {PwOp::kInput, DType::kF32, e.num_inputs++};
  }
  return e;
}

}  // namespace wootz::cuda
