#include "backends/cuda/cublaslt/gemm.h"

#include "backends/cuda/cublaslt/fp8.h"
#include "backends/cuda/support/epilogue_stages.h"
#include "backends/cuda/support/workspace.h"

namespace wootz::cuda {
namespace {

Result<cudaDataType_t> data_type(DType type) {
  switch (type) {
    case DType::kF32: return CUDA_R_32F;
    case DType::kF16: return CUDA_R_16F;
    case DType::kBF16: return CUDA_R_16BF;
    default: return unsupported("cuBLASLt is not asked for products of {}", dtype_name(type));
  }
}

int64_t from_end(const Dims& d, size_t i) { return d[d.size() - i]; }

int64_t batch_of(const Dims& d) {
  int64_t v = 1;
  for (size_t i = 0; i + 2 < d.size(); ++i) v *= d[i];
  return v;
}

// All batch axes as the output's, or all 1.
bool one_stride(const Dims& d, const Dims& y) {
  if (batch_of(d) == 1) return true;
  if (batch_of(d) != batch_of(y)) return false;
  size_t i = 0, j = 0;
  const auto skip = [](const Dims& dims, size_t* at) {
    while (*at + 2 < dims.size() && dims[*at] == 1) ++*at;
  };
  for (;;) {
    skip(d, &i);
    skip(y, &j);
    const bool end_d = i + 2 >= d.size(), end_y = j + 2 >= y.size();
    if (end_d || end_y) return end_d && end_y;
    if (d[i++] != y[j++]) return false;
  }
}

bool is_row_vector(const Dims& d, int64_t n) {
  if (d.empty() || d.back() != n) return false;
  return d.volume() == n;
}

Status add_operand(const Problem& p, int input, std::span<const Dims> dims, const Dims& y, Product* product) {
  const Dims& d = dims[static_cast<size_t>(input)];
  if (p.inputs[static_cast<size_t>(input)].dtype != p.outputs[0].dtype)
    return unsupported("an operand of another type than the result");
  if (d == y && !(is_row_vector(d, product->n))) {
    if (product->addend >= 0) return unsupported("two operands of the result's shape");
    product->addend = input;
    return Status();
  }
  if (is_row_vector(d, product->n)) {
    if (product->bias >= 0) return unsupported("two operands along rows");
    product->bias = input;
    return Status();
  }
  return unsupported("an operand of shape {} for {}", d.to_string(), y.to_string());
}

// The same for images of pixels with their channels innermost: one value a channel, or a whole image.
Status add_pixels_operand(const Problem& p, int input, std::span<const Dims> dims, const Dims& y, Product* product) {
  const Dims& d = dims[static_cast<size_t>(input)];
  const TensorDesc& t = p.inputs[static_cast<size_t>(input)];
  if (t.dtype != p.outputs[0].dtype) return unsupported("an operand of another type than the result");
  const size_t from_end = y.size() - 1;  // the channels' axis
  const bool by_channel = d.size() >= from_end && d.volume() == product->n && d[d.size() - from_end] == product->n;
  int* const place = by_channel ? &product->bias : &product->addend;
  if (!by_channel && (!(d == y) || t.layout != Layout::kChannelsLast))
    return unsupported("an operand of shape {} for {}", d.to_string(), y.to_string());
  if (*place >= 0) return unsupported("two operands of one kind");
  *place = input;
  return Status();
}

using AddOperand = Status (*)(const Problem& p, int input, std::span<const Dims> dims, const Dims& y, Product* product);

// Addition of operands, then at most one activation. `tf32`: operands of f32 may be rounded to it.
Status add_epilogue(const Problem& p, std::span<const Dims> in, const Dims& y, bool tf32, AddOperand add, Product* g) {
  const std::optional<std::vector<Stage>> stages = epilogue_stages(p);
  if (!stages) return unsupported("this epilogue");
  PwOp act = PwOp::kInput;
  for (const Stage& s : *stages) {
    if (act != PwOp::kInput) return unsupported("more after the activation");
    if (s.op == PwOp::kAdd)
      WOOTZ_RETURN_IF_ERROR(add(p, s.input, in, y, g));
    else
      act = s.op;
  }
  // The library's GELU is the one by tanh; in 16 bits the two round to the same or the next value. Of products whose
  // operands are rounded to TF32 as well: of BERT's feed-forward layers (root mean squares) activations are off by
  // 3.0e-4 from that, 3.6e-4 with this GELU, and what the next product makes of them by 4.2e-4 and 4.7e-4.
  const bool coarse = g->out_type != CUDA_R_32F || (tf32 && g->type == CUDA_R_32F);
  const bool gelu = act == PwOp::kGeluTanh || (act == PwOp::kGeluErf && coarse);
  if (act != PwOp::kInput && act != PwOp::kRelu && !gelu) return unsupported("activation {}", pw_op_name(act));
  g->epilogue = library_epilogue(act, g->bias >= 0);
  return Status();
}

Result<Product> describe_gemm(const Problem& p, std::span<const Dims> in, const Dims& y, bool tf32) {
  const bool has_bias = p.as<GemmParams>().has_bias;
  if (p.num_main != (has_bias ? 3 : 2) || p.inputs.size() < static_cast<size_t>(p.num_main) || p.outputs.size() != 1 ||
      in.size() != p.inputs.size())
    return invalid_argument("product of {} operands", p.num_main);
  if (!p.as<GemmParams>().x_scale.empty()) return unsupported("a quantized product");
  const Dims &a = in[0], &b = in[1];
  if (a.rank() < 2 || b.rank() < 2 || y.rank() < 2) return unsupported("vectors");
  if (p.inputs[0].dtype != p.inputs[1].dtype) return unsupported("operands of two types");
  for (const TensorDesc& t : p.inputs)
    if (t.layout != Layout::kLinear && !(t.constant && t.layout == Layout::kOpaque))
      return unsupported("layout {}", layout_name(t.layout));
  if (p.outputs[0].layout != Layout::kLinear) return unsupported("layout {}", layout_name(p.outputs[0].layout));
  Product g;
  WOOTZ_ASSIGN_OR_RETURN(g.type, data_type(p.inputs[0].dtype));
  WOOTZ_ASSIGN_OR_RETURN(g.out_type, data_type(p.outputs[0].dtype));
  if (g.out_type != g.type && g.out_type != CUDA_R_32F) return unsupported("a result of another 16-bit type");
  g.trans_a = p.as<GemmParams>().trans_a;
  g.trans_b = p.as<GemmParams>().trans_b;
  g.alpha = p.as<GemmParams>().alpha;
  g.m = from_end(a, g.trans_a ? 1 : 2);
  g.k = from_end(a, g.trans_a ? 2 : 1);
  g.n = from_end(b, g.trans_b ? 2 : 1);
  if (from_end(b, g.trans_b ? 1 : 2) != g.k || from_end(y, 2) != g.m || from_end(y, 1) != g.n)
    return invalid_argument("product of {} and {} gives {}", a.to_string(), b.to_string(), y.to_string());
  if (g.m == 0 || g.n == 0 || g.k == 0 || y.volume() == 0) return unsupported("an empty product");
  g.batch = batch_of(y);
  if (!one_stride(a, y) || !one_stride(b, y))
    return unsupported("batches {} and {} that broadcast partly", a.to_string(), b.to_string());
  g.stride_a = batch_of(a) == 1 ? 0 : g.m * g.k;
  g.stride_b = batch_of(b) == 1 ? 0 : g.k * g.n;
  g.stride_c = g.m * g.n;
  if (has_bias) WOOTZ_RETURN_IF_ERROR(add_operand(p, 2, in, y, &g));
  WOOTZ_RETURN_IF_ERROR(add_epilogue(p, in, y, tf32, add_operand, &g));
  // One set of weights for a whole batch: the batch is more rows.
  if (g.batch > 1 && g.stride_b == 0 && g.stride_a != 0 && !g.trans_a) {
    g.m *= g.batch;
    g.batch = 1;
  }
  if (g.bias >= 0 && g.batch > 1) return unsupported("a bias on a batch of products");
  return g;
}

// A convolution by single pixels is a product: pixels by channels.
Result<Product> describe_pixels(const Problem& p, std::span<const Dims> in, const Dims& y, bool tf32) {
  const bool has_bias = p.as<ConvParams>().has_bias;
  if (p.num_main != (has_bias ? 3 : 2) || p.inputs.size() < static_cast<size_t>(p.num_main) || p.outputs.size() != 1 ||
      in.size() != p.inputs.size())
    return invalid_argument("convolution of {} operands", p.num_main);
  const Dims &x = in[0], &f = in[1];
  if (x.rank() < 3 || f.rank() != x.rank() || y.rank() != x.rank()) return unsupported("{}", x.to_string());
  if (p.as<ConvParams>().transposed || p.as<ConvParams>().groups != 1 || !p.as<ConvParams>().x_scale.empty())
    return unsupported("this convolution");
  for (size_t a = 2; a < f.size(); ++a)
    if (f[a] != 1 || y[a] != x[a]) return unsupported("a window of more than a pixel");
  for (const int64_t v : p.as<ConvParams>().strides)
    if (v != 1) return unsupported("strides");
  for (const int64_t v : p.as<ConvParams>().pads)
    if (v != 0) return unsupported("padding");
  if (f[1] != x[1] || f[0] != y[1] || x[0] != y[0])
    return invalid_argument("{} by {} gives {}", x.to_string(), f.to_string(), y.to_string());
  if (p.inputs[0].dtype != p.inputs[1].dtype) return unsupported("operands of two types");
  if (p.inputs[0].layout != Layout::kChannelsLast || p.outputs[0].layout != Layout::kChannelsLast)
    return unsupported("rows of pixels");
  Product g;
  WOOTZ_ASSIGN_OR_RETURN(g.type, data_type(p.inputs[0].dtype));
  WOOTZ_ASSIGN_OR_RETURN(g.out_type, data_type(p.outputs[0].dtype));
  if (g.out_type != g.type && g.out_type != CUDA_R_32F) return unsupported("a result of another 16-bit type");
  if (x.volume() == 0 || y.volume() == 0) return unsupported("an empty convolution");
  g.n = y[1];
  g.k = x[1];
  g.m = y.volume() / g.n;
  g.trans_b = true;
  if (has_bias) {
    if (in[2].volume() != g.n || p.inputs[2].dtype != p.outputs[0].dtype) return unsupported("this bias");
    g.bias = 2;
  }
  WOOTZ_RETURN_IF_ERROR(add_epilogue(p, in, y, tf32, add_pixels_operand, &g));
  return g;
}

}  // namespace

Result<Product> describe_product(const Problem& p, std::span<const Dims> in, const Dims& y, bool tf32) {
  if (is_fp8_product(p)) return describe_fp8(p, in, y);
  if (p.family() == Family::kConv) return describe_pixels(p, in, y, tf32);
  return describe_gemm(p, in, y, tf32);
}

Result<std::unique_ptr<ProductPlan>> ProductPlan::create(const CublasLt& lt, const Product& g, bool tf32) {
  std::unique_ptr<ProductPlan> plan(new ProductPlan(lt, g));
  WOOTZ_RETURN_IF_ERROR(
      plan->describe(g.type == CUDA_R_32F && tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F));
  return plan;
}

Status ProductPlan::describe(cublasComputeType_t compute) {
  const Product& g = product_;
  const auto failed = [](cublasStatus_t s) { return s != CUBLAS_STATUS_SUCCESS; };
  const auto layout = [&](cublasLtMatrixLayout_t* made, cudaDataType_t type, int64_t rows, int64_t columns,
                          int64_t stride) {
    if (failed(lt_.cublasLtMatrixLayoutCreate(made, type, static_cast<uint64_t>(rows), static_cast<uint64_t>(columns),
                                              rows)))
      return false;
    const auto batch = static_cast<int32_t>(g.batch);
    return g.batch == 1 || (!failed(lt_.cublasLtMatrixLayoutSetAttribute(*made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                                                                         &batch, sizeof batch)) &&
                            !failed(lt_.cublasLtMatrixLayoutSetAttribute(
                                *made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride)));
  };
  bool ok = !failed(lt_.cublasLtMatmulDescCreate(&desc_, compute, CUDA_R_32F));
  const auto set = [&](cublasLtMatmulDescAttributes_t which, auto value) {
    ok = ok && !failed(lt_.cublasLtMatmulDescSetAttribute(desc_, which, &value, sizeof value));
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, g.trans_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_TRANSB, g.trans_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, g.epilogue);
  if (g.fp8) {
    set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, static_cast<int8_t>(g.fast));
    if (g.bias >= 0) set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, g.bias_type);
    if (g.by_column) {
      set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F);
      set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F);
    }
  }
  ok = ok && layout(&b_, g.fp8 ? g.w_type : g.type, g.trans_b ? g.k : g.n, g.trans_b ? g.n : g.k, g.stride_b) &&
       layout(&a_, g.type, g.trans_a ? g.m : g.k, g.trans_a ? g.k : g.m, g.stride_a) &&
       layout(&c_, g.fp8 ? g.c_type : g.out_type, g.n, g.m, g.stride_c) &&
       layout(&d_, g.out_type, g.n, g.m, g.stride_c);
  if (ok) return Status();
  return g.fp8 ? unsupported("cuBLASLt takes no such product of floats of 8 bits: it is too old for it")
               : internal_error("cuBLASLt took no descriptors for a product of {} x {} x {}", g.m, g.n, g.k);
}

ProductPlan::~ProductPlan() {
  if (desc_ != nullptr) lt_.cublasLtMatmulDescDestroy(desc_);
  for (cublasLtMatrixLayout_t layout : {a_, b_, c_, d_})
    if (layout != nullptr) lt_.cublasLtMatrixLayoutDestroy(layout);
}

void ProductPlan::set_pointers(cublasLtMatmulDesc_t desc, const void* weights, const void* bias) const {
  const auto set = [&](cublasLtMatmulDescAttributes_t which, const void* at) {
    lt_.cublasLtMatmulDescSetAttribute(desc, which, &at, sizeof at);
  };
  if (product_.bias >= 0) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  if (!product_.fp8) return;
  const Fp8Table table = fp8_table(product_, product_.m);
  const auto* const bytes = static_cast<const std::byte*>(weights);
  if (product_.out_type == CUDA_R_8F_E4M3 || product_.out_type == CUDA_R_8F_E5M2)
    set(CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, bytes + table.factor);
  if (!product_.by_column) return;
  set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, bytes + table.columns);
  set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, bytes + table.rows);
}

void clear_leftovers(cublasLtMatmulAlgo_t* algo, size_t version) {
  for (uint64_t& word : algo->data)
    if (word >> 32 == version) word &= ~uint64_t{0xffff0000};
}

// Heuristics want to know what there will be, not where.
static const void* somewhere() { return reinterpret_cast<const void*>(uintptr_t{4096}); }

Result<std::vector<cublasLtMatmulHeuristicResult_t>> ProductPlan::proposals(size_t workspace, int most) const {
  set_pointers(desc_, somewhere(), somewhere());
  cublasLtMatmulPreference_t preference = nullptr;
  if (lt_.cublasLtMatmulPreferenceCreate(&preference) != CUBLAS_STATUS_SUCCESS)
    return internal_error("cublasLtMatmulPreferenceCreate failed");
  lt_.cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
                                           sizeof workspace);
  // Left alone, heuristics count on operands at multiples of 256 bytes. Ours lie at multiples of 64, callers' where
  // they like, and an algorithm may want more than it gets.
  const uint32_t alignment = 16;
  for (const cublasLtMatmulPreferenceAttributes_t which :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    lt_.cublasLtMatmulPreferenceSetAttribute(preference, which, &alignment, sizeof alignment);
  std::vector<cublasLtMatmulHeuristicResult_t> found(static_cast<size_t>(most));
  int count = 0;
  const cublasStatus_t status =
      lt_.cublasLtMatmulAlgoGetHeuristic(lt_.handle, desc_, b_, a_, c_, d_, preference, most, found.data(), &count);
  lt_.cublasLtMatmulPreferenceDestroy(preference);
  if (status != CUBLAS_STATUS_SUCCESS || count == 0)
    return unsupported("cuBLASLt has no algorithm for it (status {})", static_cast<int>(status));
  found.resize(static_cast<size_t>(count));
  std::erase_if(found, [](const cublasLtMatmulHeuristicResult_t& r) { return r.state != CUBLAS_STATUS_SUCCESS; });
  for (cublasLtMatmulHeuristicResult_t& r : found) clear_leftovers(&r.algo, lt_.cublasLtGetVersion());
  return found;
}

bool ProductPlan::accepts(const cublasLtMatmulAlgo_t& algo, size_t* workspace) const {
  set_pointers(desc_, somewhere(), somewhere());
  cublasLtMatmulHeuristicResult_t result{};
  if (lt_.cublasLtMatmulAlgoCheck(lt_.handle, desc_, b_, a_, c_, d_, &algo, &result) != CUBLAS_STATUS_SUCCESS)
    return false;
  *workspace = result.workspaceSize;
  return result.state == CUBLAS_STATUS_SUCCESS;
}

Status ProductPlan::run(const cublasLtMatmulAlgo_t& algo, const RunArgs& args, size_t workspace,
                        CUstream stream) const {
  const auto alpha = static_cast<float>(product_.alpha);
  const float beta = product_.addend >= 0 ? 1 : 0;
  void* const d = args.outputs[0];
  // Unread where there is no addend; of another type than the result it must not be the result.
  const void* const c = product_.addend >= 0                                   ? args.inputs[product_.addend]
                        : product_.fp8 && product_.c_type != product_.out_type ? nullptr
                                                                               : d;
  // The opaque descriptor is a plain value: a copy on the stack keeps runs of several threads apart.
  cublasLtMatmulDescOpaque_t desc = *desc_;
  set_pointers(&desc, args.inputs[1], product_.bias >= 0 ? args.inputs[product_.bias] : nullptr);
  const cublasStatus_t status =
      lt_.cublasLtMatmul(lt_.handle, &desc, &alpha, args.inputs[1], b_, args.inputs[0], a_, &beta, c, c_, d, d_, &algo,
                         workspace == 0 ? nullptr : aligned_workspace(args.workspace), workspace, stream);
  return status == CUBLAS_STATUS_SUCCESS ? Status()
                                         : internal_error("cublasLtMatmul: status {}", static_cast<int>(status));
}

}  // namespace wootz::cuda
