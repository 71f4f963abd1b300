#include "backends/cuda/cublaslt/fp8.h"

#include <algorithm>
#include <cmath>

#include "backend/operand_dims.h"
#include "backend/quantized.h"
#include "backends/cuda/support/epilogue_stages.h"
#include "base/fp8.h"

namespace wootz::cuda {
namespace {

constexpr int64_t kMultiple = 16;       // of rows in bytes, and of columns
constexpr int64_t kMostRows = 1 << 20;  // with scales by column: each has a one in the plan

bool is_narrow(DType type) { return type == DType::kF16 || type == DType::kBF16; }

cudaDataType_t library_type(DType type) {
  switch (type) {
    case DType::kF16: return CUDA_R_16F;
    case DType::kBF16: return CUDA_R_16BF;
    case DType::kF8E4M3: return CUDA_R_8F_E4M3;
    case DType::kF8E5M2: return CUDA_R_8F_E5M2;
    default: return CUDA_R_32F;
  }
}

const PwInstr& before_casts(const PointwiseExpr& e, uint16_t at) {
  for (size_t steps = 0; steps < e.code.size() && e.code[at].op == PwOp::kCast; ++steps) at = e.code[at].a;
  return e.code[at];
}

// The rows that weights are packed for: as many as the profile's largest extents have.
int64_t fp8_rows(const Problem& p) {
  const Dims& x = p.inputs[0].max_dims.empty() ? p.inputs[0].dims : p.inputs[0].max_dims;
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < x.size(); ++i) rows *= x[i];
  return rows;
}

// The scales of the result's columns: one that is all of them, or one each.
Result<std::vector<double>> scales_of(const Problem& p, int64_t columns) {
  WOOTZ_ASSIGN_OR_RETURN(const GemmScales s, read_gemm_scales(p, columns));
  const auto& g = p.as<GemmParams>();
  if (s.x_zero != 0 || s.w_zero != 0) return unsupported("zero points of floats");
  std::vector<double> scales;
  for (size_t n = 0; n < s.w.size(); ++n) scales.push_back(s.of(static_cast<int64_t>(n)) * g.alpha);
  if (std::all_of(scales.begin(), scales.end(), [&](double v) { return v == scales[0]; })) scales.resize(1);
  return scales;
}

// One operand of the epilogue: a bias along rows, or one of the result's shape.
Status add_operand(const Problem& p, int input, std::span<const Dims> in, const Dims& y, Product* g) {
  const Dims& d = in[static_cast<size_t>(input)];
  const TensorDesc& t = p.inputs[static_cast<size_t>(input)];
  if (!d.empty() && d.back() == g->n && d.volume() == g->n && !(d == y && g->m == 1 && !t.constant)) {
    if (g->bias >= 0) return unsupported("two operands along rows");
    if (g->out_type == CUDA_R_32F) return unsupported("a bias in f32 on floats of 8 bits");
    if (!t.constant && !is_narrow(t.dtype)) return unsupported("a bias in {}", dtype_name(t.dtype));
    g->bias = input;
    if (g->out_type == CUDA_R_16F || g->out_type == CUDA_R_16BF)
      g->bias_type = g->out_type;
    else  // of a result in 8 bits
      g->bias_type = t.constant || t.dtype == DType::kBF16 ? CUDA_R_16BF : CUDA_R_16F;
    if (!t.constant && library_type(t.dtype) != g->bias_type) return unsupported("a bias in {}", dtype_name(t.dtype));
    return Status();
  }
  if (!(d == y)) return unsupported("an operand of shape {} for {}", d.to_string(), y.to_string());
  if (t.layout != Layout::kLinear) return unsupported("layout {}", layout_name(t.layout));
  if (g->addend >= 0) return unsupported("two operands of the result's shape");
  const bool bytes = g->out_type == CUDA_R_8F_E4M3 || g->out_type == CUDA_R_8F_E5M2;
  if (bytes ? !is_narrow(t.dtype) : library_type(t.dtype) != g->out_type || t.dtype != p.outputs[0].dtype)
    return unsupported("an operand of another type than the result");
  g->addend = input;
  g->c_type = library_type(t.dtype);
  return Status();
}

// Addition of operands, then at most one activation.
Status add_epilogue(const Problem& p, std::span<const Dims> in, const Dims& y, const PointwiseExpr& expression,
                    Product* g) {
  Problem plain = p;
  plain.epilogue = expression;
  const std::optional<std::vector<Stage>> stages = epilogue_stages(plain);
  if (!stages) return unsupported("this epilogue");
  PwOp act = PwOp::kInput;
  for (const Stage& s : *stages) {
    if (act != PwOp::kInput) return unsupported("more after the activation");
    if (s.op == PwOp::kAdd)
      WOOTZ_RETURN_IF_ERROR(add_operand(p, s.input, in, y, g));
    else
      act = s.op;
  }
  // The library's GELU is the one by tanh; in 16 bits the two round to the same or the next value.
  const bool gelu = act == PwOp::kGeluTanh || (act == PwOp::kGeluErf && g->out_type != CUDA_R_32F);
  if (act != PwOp::kInput && act != PwOp::kRelu && !gelu) return unsupported("activation {}", pw_op_name(act));
  g->epilogue = library_epilogue(act, g->bias >= 0);
  return Status();
}

// What the library pairs with a result: C's type and that of a bias must be the same.
Status settle_types(const Problem& p, Product* g) {
  const bool bytes = g->out_type == CUDA_R_8F_E4M3 || g->out_type == CUDA_R_8F_E5M2;
  if (!bytes) {
    g->c_type = g->out_type;
    return Status();
  }
  if (g->addend < 0) g->c_type = g->bias >= 0 ? g->bias_type : CUDA_R_16BF;
  if (g->bias >= 0 && g->bias_type != g->c_type && !p.inputs[static_cast<size_t>(g->bias)].constant)
    return unsupported("a bias and an operand of two types");
  if (g->bias >= 0) g->bias_type = g->c_type;  // as a constant is packed
  return Status();
}

Status check_operands(const Problem& p, std::span<const Dims> in) {
  const auto& g = p.as<GemmParams>();
  if (p.num_main != 2 || g.has_bias || p.outputs.size() != 1 || in.size() != p.inputs.size())
    return invalid_argument("product of {} operands", p.num_main);
  if (g.trans_a) return unsupported("its first operand is transposed");
  if (!p.inputs[1].constant || in[1].rank() < 2) return unsupported("floats of 8 bits by what is no constant matrix");
  if (p.inputs[0].dtype == DType::kF8E5M2 && p.inputs[1].dtype == DType::kF8E5M2)
    return unsupported("two operands in f8e5m2");
  for (const TensorDesc& t : p.inputs)
    if (t.layout != Layout::kLinear && !(t.constant && t.layout == Layout::kOpaque))
      return unsupported("layout {}", layout_name(t.layout));
  if (p.outputs[0].layout != Layout::kLinear) return unsupported("layout {}", layout_name(p.outputs[0].layout));
  return Status();
}

Status set_extents(const Problem& p, const Dims& x, const Dims& w, const Dims& y, Product* g) {
  const bool turned = p.as<GemmParams>().trans_b;
  if (x.rank() < 2 || y.rank() < 2) return unsupported("vectors");
  g->k = w[w.size() - (turned ? 1 : 2)];
  g->n = w[w.size() - (turned ? 2 : 1)];
  if (w.volume() != g->k * g->n) return unsupported("a batch of products of floats of 8 bits");
  if (x.back() != g->k || y.back() != g->n || g->k == 0 || g->n == 0 || y.volume() == 0)
    return unsupported("{} by {} gives {}", x.to_string(), w.to_string(), y.to_string());
  g->m = y.volume() / g->n;
  if (x.volume() != g->m * g->k) return unsupported("{} gives {}", x.to_string(), y.to_string());
  if (g->n % kMultiple != 0 || g->k % kMultiple != 0)
    return unsupported("{} columns of {} floats of 8 bits: multiples of {} only", g->n, g->k, kMultiple);
  g->trans_b = true;  // as they are packed
  return Status();
}

// The result's type, and what comes before it is rounded to 8 bits.
Result<PointwiseExpr> set_result(const Problem& p, Product* g) {
  const DType type = p.outputs[0].dtype;
  g->out_type = library_type(type);
  if (!is_fp8(type)) {
    if (type != DType::kF32 && !is_narrow(type)) return unsupported("a result in {}", dtype_name(type));
    return p.epilogue;
  }
  if (g->by_column) return unsupported("scales by column and a result of 8 bits");
  if (type == DType::kF8E5M2 && p.inputs[0].dtype != type && p.inputs[1].dtype != type)
    return unsupported("a result in {}", dtype_name(type));
  std::optional<PointwiseExpr> rest = before_fp8_rounding(p.epilogue, &g->out_factor);
  if (!rest) return unsupported("this rounding to 8 bits");
  return std::move(*rest);
}

}  // namespace

Status check_fp8_device(int capability) {
  if (capability >= 89) return Status();
  return unsupported("sm_{} multiplies no floats of 8 bits: that is from sm_89 on", capability);
}

bool is_fp8_product(const Problem& p) {
  return p.is(Family::kGemm) && p.inputs.size() >= 2 && has_scales(p) && is_fp8(p.inputs[0].dtype) &&
         is_fp8(p.inputs[1].dtype);
}

std::optional<PointwiseExpr> before_fp8_rounding(const PointwiseExpr& expression, double* factor) {
  if (expression.outputs.size() != 1) return std::nullopt;
  PointwiseExpr e = expression;
  uint16_t v = e.outputs[0];
  if (e.code[v].op != PwOp::kCastSaturate || !is_fp8(e.code[v].type)) return std::nullopt;
  v = e.code[v].a;
  *factor = 1;
  const auto constant = [&](uint16_t at) -> std::optional<double> {
    const PwInstr& in = before_casts(e, at);
    return in.op == PwOp::kConst ? std::optional(in.imm0) : std::nullopt;
  };
  for (size_t guard = 0; guard <= e.code.size(); ++guard) {
    const PwInstr& in = e.code[v];
    if (!is_float(in.type)) return std::nullopt;
    if (in.op == PwOp::kAdd && constant(in.b) == 0.0)
      v = in.a;
    else if (in.op == PwOp::kDiv && constant(in.b).value_or(0) > 0)
      *factor /= *constant(in.b), v = in.a;
    else if (in.op == PwOp::kMul && constant(in.b).value_or(0) > 0)
      *factor *= *constant(in.b), v = in.a;
    else if (in.op == PwOp::kCast && !is_fp8(in.type))
      v = in.a;
    else
      break;
  }
  const auto narrowed = static_cast<float>(*factor);
  if (!std::isnormal(narrowed)) return std::nullopt;
  e.outputs = {v};
  return e;
}

Result<Product> describe_fp8(const Problem& p, std::span<const Dims> in, const Dims& y) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, in));
  Product g;
  g.fp8 = true;
  WOOTZ_RETURN_IF_ERROR(set_extents(p, in[0], in[1], y, &g));
  g.type = library_type(p.inputs[0].dtype);
  g.w_type = library_type(p.inputs[1].dtype);
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<double> scales, scales_of(p, g.n));
  g.by_column = scales.size() > 1;
  if (!g.by_column) g.alpha = scales[0];
  if (g.by_column && (p.passing || fp8_rows(p) > kMostRows || g.m > kMostRows))
    return unsupported("{} rows with scales by column",
                       p.passing ? std::string("any number of") : std::to_string(std::max(fp8_rows(p), g.m)));
  WOOTZ_ASSIGN_OR_RETURN(const PointwiseExpr expression, set_result(p, &g));
  WOOTZ_RETURN_IF_ERROR(add_epilogue(p, in, y, expression, &g));
  WOOTZ_RETURN_IF_ERROR(settle_types(p, &g));
  return g;
}

Fp8Table fp8_table(const Product& g, int64_t rows) {
  Fp8Table t;
  t.factor = static_cast<size_t>(g.n * g.k);  // of 16 bytes, as all that follows
  t.columns = t.factor + 16;
  t.rows = t.columns + (g.by_column ? static_cast<size_t>(g.n) * sizeof(float) : 0);
  t.end = t.rows + (g.by_column ? static_cast<size_t>(rows) * sizeof(float) : 0);
  return t;
}

namespace {

std::vector<std::byte> packed_weights(const Product& g, bool turned, const Fp8Table& table,
                                      const std::vector<double>& scales, const HostTensor& source) {
  std::vector<std::byte> bytes(table.end);
  const auto* from = static_cast<const std::byte*>(source.data());
  for (int64_t n = 0; n < g.n; ++n)
    for (int64_t k = 0; k < g.k; ++k)
      bytes[static_cast<size_t>(n * g.k + k)] = from[turned ? n * g.k + k : k * g.n + n];
  const auto put = [&](size_t at, double value) {
    const auto narrowed = static_cast<float>(value);
    std::copy_n(reinterpret_cast<const std::byte*>(&narrowed), sizeof narrowed,
                bytes.begin() + static_cast<ptrdiff_t>(at));
  };
  put(table.factor, g.out_factor);
  if (!g.by_column) return bytes;
  for (size_t n = 0; n < scales.size(); ++n) put(table.columns + n * sizeof(float), scales[n]);
  for (size_t at = table.rows; at < table.end; at += sizeof(float)) put(at, 1);
  return bytes;
}

// At the front of as many bytes as the source has, which is what a plan is held to.
Result<std::vector<std::byte>> packed_bias(DType type, const HostTensor& source) {
  WOOTZ_ASSIGN_OR_RETURN(HostTensor narrowed, HostTensor::allocate(type, source.dims()));
  for (int64_t i = 0; i < source.volume(); ++i) narrowed.set_f64(i, source.get_f64(i));
  std::vector<std::byte> bytes(std::max(source.bytes(), narrowed.bytes()));
  std::copy_n(static_cast<const std::byte*>(narrowed.data()), narrowed.bytes(), bytes.begin());
  return bytes;
}

}  // namespace

Result<std::optional<PackedForm>> pack_fp8(const Problem& p, int input, const HostTensor& source) {
  const std::vector<Dims> in = operand_dims(p.inputs);
  WOOTZ_ASSIGN_OR_RETURN(const Product g, describe_fp8(p, in, p.outputs[0].dims));
  if (input == 1) {
    WOOTZ_ASSIGN_OR_RETURN(const std::vector<double> scales, scales_of(p, g.n));
    const Fp8Table table = fp8_table(g, g.by_column ? std::max(g.m, fp8_rows(p)) : 0);
    const bool turned = p.as<GemmParams>().trans_b;
    return std::optional(packed_by(table.end, [g, turned, table, scales, source]() -> Result<std::vector<std::byte>> {
      return packed_weights(g, turned, table, scales, source);
    }));
  }
  const DType type = g.bias_type == CUDA_R_16F ? DType::kF16 : DType::kBF16;
  if (input != g.bias || source.dtype() == type) return std::optional<PackedForm>{};
  const size_t bytes = std::max(source.bytes(), dtype_bytes(type, source.volume()));
  return std::optional(packed_by(bytes, [type, source] { return packed_bias(type, source); }));
}

Status check_fp8_constants(const Product& g, const BindArgs& args) {
  const auto given = [&](int i) {
    const auto at = static_cast<size_t>(i);
    return at < args.constant_bytes.size() && args.constants[at] != nullptr ? args.constant_bytes[at] : SIZE_MAX;
  };
  if (given(1) < fp8_table(g, g.m).end)
    return invalid_argument("packed weights are too short for {} columns of {}", g.n, g.k);
  if (g.bias >= 0 && given(g.bias) < static_cast<size_t>(g.n) * 2)
    return invalid_argument("a packed bias is too short for {} columns", g.n);
  return Status();
}

}  // namespace wootz::cuda
