// Family gemm of f32, BF16 or 8 bits, with a constant matrix at the right: every batch multiplies the same one, so all
// rows are one matrix.
#include "backend/operand_dims.h"
#include "backends/cpu/dense/amx.h"
#include "backends/cpu/dense/bf16.h"
#include "backends/cpu/dense/blocks.h"
#include "backends/cpu/dense/copy_runs.h"
#include "backends/cpu/dense/int8.h"
#include "backends/cpu/dense/quads.h"
#include "backends/cpu/dense/vnni_pack.h"
#include "backends/cpu/function_kernel.h"

namespace wootz::cpu {
namespace {

template <class T>
class MatrixRows final : public DenseRows<T> {
 public:
  explicit MatrixRows(int64_t depth) : depth_(depth) {}
  void find(const T* input, int64_t first, int64_t count, const T** taps) const override {
    for (int64_t i = 0; i < count; ++i) taps[i] = input + (first + i) * depth_;
  }
  bool plain() const override { return true; }
  void copy(const T* input, int64_t first, int64_t count, const SumRuns&, T* to, int64_t stride) const override {
    const int64_t bytes = depth_ * static_cast<int64_t>(sizeof(T));
    for (int64_t i = 0; i < count; ++i)
      copy_runs({reinterpret_cast<const char*>(input + (first + i) * depth_), 0, bytes, 1,
                 reinterpret_cast<char*>(to + i * stride), whole_lines(bytes)});
  }

 private:
  int64_t depth_;
};

Result<DenseShape> shape_of(const Problem& p, std::span<const Dims> in, const Dims& y) {
  const Dims &a = in[0], &b = in[1];
  const auto bad = [&](const char* what) {
    return invalid_argument("gemm of {} and {} to {}: {}", a.to_string(), b.to_string(), y.to_string(), what);
  };
  if (a.rank() < 2 || b.rank() < 2 || y.rank() != a.rank() || b.rank() > a.rank()) return bad("ranks");
  if (!(b == p.inputs[1].dims)) return bad("the matrix has other extents than the one that was packed");
  const auto last = static_cast<size_t>(a.rank() - 1), columns = static_cast<size_t>(b.rank() - 1);
  const bool trans_b = p.as<GemmParams>().trans_b;
  DenseShape s;
  s.depth = b[columns - (trans_b ? 0 : 1)];
  s.columns = b[columns - (trans_b ? 1 : 0)];
  if (a[last] != s.depth || y[last] != s.columns) return bad("inner extents");
  s.rows = 1;
  for (size_t i = 0; i < last; ++i) {
    if (a[i] != y[i]) return bad("batches");
    s.rows *= a[i];
  }
  for (size_t i = 0; i + 2 <= columns; ++i)
    if (b[i] != 1) return unsupported("a matrix for each batch");
  if (s.depth == 0 || s.columns == 0) return unsupported("gemm of empty operands");
  if (p.num_main > 2 && (in[2].rank() < 1 || in[2].back() != s.columns || in[2].volume() != s.columns))
    return unsupported("a bias of shape {}", in[2].to_string());
  return s;
}

Result<DenseShape> form(const Problem& p) {
  if (p.as<GemmParams>().trans_a) return unsupported("a transposed left side");
  if (p.as<GemmParams>().alpha != 1) return unsupported("alpha");
  if (p.inputs[0].layout != Layout::kLinear || p.outputs[0].layout != Layout::kLinear)
    return unsupported("gemm in layout {}", layout_name(p.inputs[0].layout));
  return shape_of(p, operand_dims(p.inputs), p.outputs[0].dims);
}
Status gemm_applies(const Problem& p) {
  WOOTZ_RETURN_IF_ERROR(check_dense_operands(p));
  return form(p).status();
}
Status applies_to_bf16(const Problem& p) {
  WOOTZ_RETURN_IF_ERROR(check_bf16_operands(p));
  return form(p).status();
}
Status applies_to_int8(const Problem& p) {
  WOOTZ_RETURN_IF_ERROR(check_dense_form(p));
  WOOTZ_ASSIGN_OR_RETURN(const DenseShape s, form(p));
  return dense_int8_scales(p, s).status();
}

Status applies_to_unshifted_int8(const Problem& p) {
  WOOTZ_RETURN_IF_ERROR(check_dense_form(p));
  WOOTZ_ASSIGN_OR_RETURN(const DenseShape s, form(p));
  return unshifted_int8_scales(p, s).status();
}

// In BF16 or 8 bits by vectors or by tiles; in 8 bits also as quads.h says.
template <Dots kDots>
class GemmKernel final : public Kernel {
 public:
  GemmKernel(const Problem& p, Epilogue e, const KernelOptions& o)
      : problem_(p), epilogue_(std::move(e)), options_(o) {}

  Result<std::optional<PackedForm>> pack(int input, const HostTensor& source) const override {
    if (input != 1) return std::optional<PackedForm>{};
    WOOTZ_ASSIGN_OR_RETURN(const DenseShape s,
                           shape_of(problem_, operand_dims(problem_.inputs), problem_.outputs[0].dims));
    if (source.dtype() != problem_.inputs[1].dtype || !(source.dims() == problem_.inputs[1].dims))
      return invalid_argument("gemm: {} {} to pack", dtype_name(source.dtype()), source.dims().to_string());
    const bool trans_b = problem_.as<GemmParams>().trans_b;
    const auto index = [s, trans_b](int64_t column, int64_t, int64_t e) {
      return trans_b ? column * s.depth + e : e * s.columns + column;
    };
    if (type() == DType::kF32) return std::optional(pack_panels(s, dense_ops(options_.isa), source, index));
    if (kAmx && type() == DType::kBF16)
      return std::optional(pack_amx_panels<uint16_t>(s, amx_sum(s), 0, source, index));
    if (type() == DType::kBF16) return std::optional(pack_bf16_panels(s, source, index));
    WOOTZ_ASSIGN_OR_RETURN(const GemmScales scales, dense_int8_scales(problem_, s));
    if (kAmx) return std::optional(pack_amx_panels<int8_t>(s, amx_sum(s), scales.x_zero, source, index));
    if (kLines)
      return std::optional(pack_vnni_panels(s, amx_sum(s), line_zero(kDots, problem_, scales), source, index));
    if (kQuads)
      return std::optional(
          pack_quad_panels(s, quads_form(kDots, options_.isa), quads_offset(problem_, scales), source, index));
    return std::optional(pack_int8_panels(s, int8_ops(options_.isa), scales.w_zero, source, index));
  }

  int in_place(int) const override { return kLines ? amx_in_place(problem_) : -1; }

  Result<std::unique_ptr<Call>> bind(const BindArgs& args) const override {
    if (args.inputs.size() != problem_.inputs.size() || args.outputs.size() != 1)
      return invalid_argument("gemm: {} inputs and {} outputs to bind", args.inputs.size(), args.outputs.size());
    WOOTZ_ASSIGN_OR_RETURN(const DenseShape s, shape_of(problem_, args.inputs, args.outputs[0]));
    if (type() == DType::kF32)
      return make_dense_call(problem_, options_, epilogue_, s, std::make_unique<MatrixRows<float>>(s.depth), args);
    if (kAmx && type() == DType::kBF16)
      return make_amx_call<uint16_t>(problem_, options_, epilogue_, s, amx_sum(s), nullptr,
                                     std::make_unique<MatrixRows<uint16_t>>(s.depth), args);
    if (type() == DType::kBF16)
      return make_bf16_call(problem_, options_, epilogue_, s, std::make_unique<MatrixRows<uint16_t>>(s.depth), args);
    WOOTZ_ASSIGN_OR_RETURN(const GemmScales scales, dense_int8_scales(problem_, s));
    if (kLines)
      return make_amx_call<uint8_t>(problem_, options_, epilogue_, s, amx_sum(s), &scales,
                                    std::make_unique<MatrixRows<uint8_t>>(s.depth), args, kDots);
    if (kQuads)
      return make_quads_call(kDots, problem_, options_, epilogue_, s, scales,
                             std::make_unique<MatrixRows<uint8_t>>(s.depth), args);
    return make_int8_call(problem_, options_, epilogue_, s, scales, std::make_unique<MatrixRows<uint8_t>>(s.depth),
                          args);
  }

 private:
  static constexpr bool kAmx = kDots == Dots::kAmx, kLines = kAmx || kDots == Dots::kVnni;
  static constexpr bool kQuads = kDots == Dots::kQuads || kDots == Dots::kCrossed;
  DType type() const { return problem_.inputs[1].dtype; }

  Problem problem_;
  Epilogue epilogue_;
  KernelOptions options_;
};

template <Dots kDots>
Result<std::unique_ptr<Kernel>> create_gemm(const Problem& p, const KernelOptions& options) {
  WOOTZ_ASSIGN_OR_RETURN(Epilogue e, Epilogue::make(p, DType::kF32, options.isa));
  return std::unique_ptr<Kernel>(std::make_unique<GemmKernel<kDots>>(p, std::move(e), options));
}

double gemm_cost_us(const Problem& p, const KernelOptions& options) {
  const Result<DenseShape> s = shape_of(p, operand_dims(p.inputs), p.outputs[0].dims);
  return s.ok() ? dense_cost_us(p, *s, options) : 0;
}
double gemm_bf16_cost_us(const Problem& p, const KernelOptions& options) {
  const Result<DenseShape> s = shape_of(p, operand_dims(p.inputs), p.outputs[0].dims);
  return s.ok() ? bf16_cost_us(p, *s, options) : 0;
}
double gemm_int8_cost_us(const Problem& p, const KernelOptions& options) {
  const Result<DenseShape> s = shape_of(p, operand_dims(p.inputs), p.outputs[0].dims);
  return s.ok() ? int8_cost_us(p, *s, options) : 0;
}

template <Dots kDots>
double gemm_quads_cost_us(const Problem& p, const KernelOptions& options) {
  const Result<DenseShape> s = shape_of(p, operand_dims(p.inputs), p.outputs[0].dims);
  return s.ok() ? quads_cost_us(kDots, p, *s, options) : 0;
}

template <class T, Dots kDots>
double gemm_lines_cost_us(const Problem& p, const KernelOptions& options) {
  const Result<DenseShape> s = shape_of(p, operand_dims(p.inputs), p.outputs[0].dims);
  if (!s.ok()) return 0;
  const AmxRows<T> rows(*s, amx_sum(*s), std::make_unique<MatrixRows<T>>(s->depth), line_tiles(kDots));
  return amx_cost_us(rows.work(), options);
}

}  // namespace

const KernelEntry gemm_f32_tiled{Family::kGemm, kSchemeLinear, gemm_applies, create_gemm<Dots::kVectors>,
                                 true,          gemm_cost_us};
const KernelEntry gemm_bf16_tiled{Family::kGemm, kSchemeLinear,    applies_to_bf16, create_gemm<Dots::kVectors>,
                                  true,          gemm_bf16_cost_us};
const KernelEntry gemm_i8_pairs{Family::kGemm, kSchemeLinear,    applies_to_int8, create_gemm<Dots::kVectors>,
                                true,          gemm_int8_cost_us};
const KernelEntry gemm_i8_quads{Family::kGemm,
                                kSchemeLinear,
                                applies_to_unshifted_int8,
                                create_gemm<Dots::kQuads>,
                                true,
                                gemm_quads_cost_us<Dots::kQuads>};
const KernelEntry gemm_i8_crossed{Family::kGemm,
                                  kSchemeLinear,
                                  applies_to_unshifted_int8,
                                  create_gemm<Dots::kCrossed>,
                                  true,
                                  gemm_quads_cost_us<Dots::kCrossed>};
const KernelEntry gemm_i8_vnni{Family::kGemm,
                               kSchemeLinear,
                               applies_to_unshifted_int8,
                               create_gemm<Dots::kVnni>,
                               true,
                               gemm_lines_cost_us<uint8_t, Dots::kVnni>,
                               Needs::kVnni};
const KernelEntry gemm_i8_amx{Family::kGemm,           kSchemeLinear, applies_to_unshifted_int8,
                              create_gemm<Dots::kAmx>, true,          gemm_lines_cost_us<uint8_t, Dots::kAmx>,
                              Needs::kAmxInt8};
const KernelEntry gemm_bf16_amx{Family::kGemm,           kSchemeLinear, applies_to_bf16,
                                create_gemm<Dots::kAmx>, true,          gemm_lines_cost_us<uint16_t, Dots::kAmx>,
                                Needs::kAmxBf16};

}  // namespace wootz::cpu
