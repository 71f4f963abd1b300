// Products of floats of 8 bits without a GPU: what a problem becomes, how its constants are packed, and which
// attributes the library is given, by a table of functions that writes down what it is asked.
#include "backends/cuda/cublaslt/fp8.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "backends/cuda/cublaslt/gemm.h"

namespace wootz::cuda {
namespace {

TensorDesc tensor(DType type, const Dims& dims, bool constant = false) {
  TensorDesc t;
  t.dtype = type;
  t.dims = t.max_dims = dims;
  t.constant = constant;
  return t;
}

// 32 rows, 48 products, 64 columns.
Problem problem_of(DType result, std::vector<double> w_scale = {0.5}) {
  Problem p;
  p.set_family(Family::kGemm);
  p.inputs = {tensor(DType::kF8E4M3, {2, 16, 48}), tensor(DType::kF8E4M3, {48, 64}, true)};
  p.outputs = {tensor(result, {2, 16, 64})};
  p.num_main = 2;
  p.acc_dtype = DType::kF32;
  p.as<GemmParams>().x_scale = {0.25};
  p.as<GemmParams>().w_scale = std::move(w_scale);
  return p;
}

std::vector<double> by_column() {
  std::vector<double> scales;
  for (int n = 0; n < 64; ++n) scales.push_back(n + 1);
  return scales;
}

Result<Product> describe(const Problem& p) {
  std::vector<Dims> in;
  for (const TensorDesc& t : p.inputs) in.push_back(t.dims);
  return describe_product(p, in, p.outputs[0].dims, false);
}

// A constant bias, then gelu, then rounding with step 0.125, and all of it in 8 bits.
Problem quantized() {
  Problem p = problem_of(DType::kF8E4M3);
  p.inputs.push_back(tensor(DType::kF32, {64}, true));
  PointwiseExpr e;
  const uint16_t x = e.input(0, DType::kF32), b = e.input(1, DType::kF32);
  const uint16_t g = e.push(PwOp::kGeluErf, DType::kF32, e.push(PwOp::kAdd, DType::kF32, x, b));
  const uint16_t q = e.push(PwOp::kDiv, DType::kF32, g, e.constant(0.125, DType::kF32));
  e.outputs = {e.push(PwOp::kCastSaturate, DType::kF8E4M3, q)};
  p.epilogue = std::move(e);
  return p;
}

std::string refusal(const Problem& p) { return describe(p).status().message(); }

TEST(Fp8Product, ScalesAreOneFactor) {
  const Result<Product> g = describe(problem_of(DType::kF16));
  ASSERT_TRUE(g.ok()) << g.status().to_string();
  EXPECT_TRUE(g->fp8 && g->trans_b && !g->by_column);
  EXPECT_EQ(g->m, 32);
  EXPECT_EQ(g->n, 64);
  EXPECT_EQ(g->k, 48);
  EXPECT_EQ(g->alpha, 0.125);
  EXPECT_EQ(g->out_type, CUDA_R_16F);
  EXPECT_EQ(g->c_type, CUDA_R_16F);
}

TEST(Fp8Product, RoundingToEightBitsIsTheLibrarys) {
  const Result<Product> g = describe(quantized());
  ASSERT_TRUE(g.ok()) << g.status().to_string();
  EXPECT_EQ(g->out_type, CUDA_R_8F_E4M3);
  EXPECT_EQ(g->out_factor, 8);
  EXPECT_EQ(g->bias, 2);
  EXPECT_EQ(g->epilogue, CUBLASLT_EPILOGUE_GELU_BIAS);
  EXPECT_EQ(g->c_type, CUDA_R_16BF);
  EXPECT_EQ(g->bias_type, CUDA_R_16BF);
}

TEST(Fp8Product, RefusesWhatTheLibraryDoesNotDo) {
  Problem p = problem_of(DType::kF32);
  p.inputs.push_back(tensor(DType::kF32, {64}, true));
  PointwiseExpr e;
  const uint16_t x = e.input(0, DType::kF32), b = e.input(1, DType::kF32);
  e.outputs = {e.push(PwOp::kAdd, DType::kF32, x, b)};
  p.epilogue = e;
  EXPECT_EQ(refusal(p), "a bias in f32 on floats of 8 bits");
  p = quantized();
  p.as<GemmParams>().w_scale = by_column();
  EXPECT_EQ(refusal(p), "scales by column and a result of 8 bits");
  p = quantized();
  p.epilogue.code.back().op = PwOp::kCast;  // infinities and NaN where it saturates
  EXPECT_EQ(refusal(p), "this rounding to 8 bits");
  p = problem_of(DType::kF16);
  p.inputs[1].constant = false;
  EXPECT_EQ(refusal(p), "floats of 8 bits by what is no constant matrix");
  p = problem_of(DType::kF16);
  p.inputs[0].dtype = p.inputs[1].dtype = DType::kF8E5M2;
  EXPECT_EQ(refusal(p), "two operands in f8e5m2");
  p = problem_of(DType::kF16);
  p.inputs[1].dims = {48, 60};
  p.outputs[0].dims = {2, 16, 60};
  EXPECT_NE(refusal(p).find("multiples of 16"), std::string::npos);
  p = problem_of(DType::kF16);
  p.as<GemmParams>().x_zero = {1};
  EXPECT_FALSE(describe(p).ok());
  p = problem_of(DType::kF16, by_column());
  p.passing = true;
  EXPECT_NE(refusal(p).find("scales by column"), std::string::npos);
  EXPECT_FALSE(check_fp8_device(80).ok());
  EXPECT_TRUE(check_fp8_device(89).ok() && check_fp8_device(90).ok());
}

float number_at(const std::vector<std::byte>& bytes, size_t at) {
  float v = 0;
  std::memcpy(&v, bytes.data() + at, sizeof v);
  return v;
}

TEST(Fp8Product, PacksColumnsWithTheirTables) {
  const Problem p = problem_of(DType::kF16, by_column());
  Result<HostTensor> w = HostTensor::allocate(DType::kF8E4M3, {48, 64});
  ASSERT_TRUE(w.ok());
  for (int64_t i = 0; i < w->volume(); ++i) w->set_f64(i, static_cast<double>(i % 7 - 3));
  const auto form = pack_fp8(p, 1, *w);
  ASSERT_TRUE(form.ok() && form->has_value()) << form.status().to_string();
  const auto made = make_bytes(**form);
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  const std::vector<std::byte> bytes(made->begin(), made->end());
  const Result<Product> g = describe(p);
  ASSERT_TRUE(g.ok());
  const Fp8Table table = fp8_table(*g, 32);
  ASSERT_EQ(bytes.size(), table.end);
  const auto* from = static_cast<const std::byte*>(w->data());
  for (size_t n = 0; n < 64; ++n)
    for (size_t k = 0; k < 48; ++k) ASSERT_EQ(bytes[n * 48 + k], from[k * 64 + n]);
  for (size_t n = 0; n < 64; ++n) EXPECT_EQ(number_at(bytes, table.columns + 4 * n), 0.25F * static_cast<float>(n + 1));
  for (size_t m = 0; m < 32; ++m) EXPECT_EQ(number_at(bytes, table.rows + 4 * m), 1.0F);
  EXPECT_EQ(table.columns % 16, 0u);
  EXPECT_EQ(table.rows % 16, 0u);
  // As a plan is held to them.
  const std::vector<Dims> in{{2, 16, 48}, {48, 64}}, out{{2, 16, 64}};
  const void* const constants[] = {nullptr, bytes.data()};
  for (const size_t less : {0, 1}) {
    const size_t sizes[] = {0, bytes.size() - less};
    EXPECT_EQ(check_fp8_constants(*g, {in, out, constants, sizes}).ok(), less == 0);
  }
}

TEST(Fp8Product, PacksABiasInTheTypeThatIsAdded) {
  Result<HostTensor> b = HostTensor::allocate(DType::kF32, {64});
  ASSERT_TRUE(b.ok());
  for (int64_t i = 0; i < 64; ++i) b->set_f64(i, static_cast<double>(i));
  const auto form = pack_fp8(quantized(), 2, *b);
  ASSERT_TRUE(form.ok() && form->has_value());
  const auto made = make_bytes(**form);
  ASSERT_TRUE(made.ok());
  ASSERT_EQ(made->size(), 256u);
  const HostTensor narrow = HostTensor::wrap(DType::kBF16, Dims{64}, made->data(), nullptr);
  for (int64_t i = 0; i < 64; ++i) EXPECT_EQ(narrow.get_f64(i), static_cast<double>(i));
}

// What the library is asked.
struct Asked {
  std::map<int, int64_t> attributes;  // of the product, their bytes as a number
  std::vector<std::pair<int, std::pair<uint64_t, uint64_t>>> layouts;
  const void *c = nullptr, *d = nullptr;
  float alpha = 0, beta = -1;
};
Asked* asked = nullptr;

CublasLt recorder() {
  CublasLt lt;
  lt.cublasLtMatmulDescCreate = [](cublasLtMatmulDesc_t* made, cublasComputeType_t, cudaDataType_t) {
    *made = new cublasLtMatmulDescOpaque_t();
    return CUBLAS_STATUS_SUCCESS;
  };
  lt.cublasLtMatmulDescDestroy = [](cublasLtMatmulDesc_t desc) {
    delete desc;
    return CUBLAS_STATUS_SUCCESS;
  };
  lt.cublasLtMatmulDescSetAttribute = [](cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t which, const void* value,
                                         size_t bytes) {
    int64_t number = 0;
    std::memcpy(&number, value, bytes);
    asked->attributes[which] = number;
    return CUBLAS_STATUS_SUCCESS;
  };
  lt.cublasLtMatrixLayoutCreate = [](cublasLtMatrixLayout_t* made, cudaDataType_t type, uint64_t rows, uint64_t columns,
                                     int64_t) {
    asked->layouts.push_back({type, {rows, columns}});
    *made = reinterpret_cast<cublasLtMatrixLayout_t>(asked->layouts.size());
    return CUBLAS_STATUS_SUCCESS;
  };
  lt.cublasLtMatrixLayoutDestroy = [](cublasLtMatrixLayout_t) { return CUBLAS_STATUS_SUCCESS; };
  lt.cublasLtMatmul = [](cublasLtHandle_t, cublasLtMatmulDesc_t, const void* alpha, const void*, cublasLtMatrixLayout_t,
                         const void*, cublasLtMatrixLayout_t, const void* beta, const void* c, cublasLtMatrixLayout_t,
                         void* d, cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t*, void*, size_t, CUstream) {
    asked->alpha = *static_cast<const float*>(alpha);
    asked->beta = *static_cast<const float*>(beta);
    asked->c = c;
    asked->d = d;
    return CUBLAS_STATUS_SUCCESS;
  };
  return lt;
}

Asked ask(const Problem& p, std::vector<const void*> inputs, void* output) {
  Asked all;
  asked = &all;
  const CublasLt lt = recorder();
  const Result<Product> g = describe(p);
  EXPECT_TRUE(g.ok()) << g.status().to_string();
  const auto plan = ProductPlan::create(lt, *g, true);
  EXPECT_TRUE(plan.ok()) << plan.status().to_string();
  void* outputs[] = {output};
  RunArgs args{};
  args.inputs = inputs.data();
  args.outputs = outputs;
  EXPECT_TRUE((*plan)->run({}, args, 0, nullptr).ok());
  asked = nullptr;
  return all;
}

int64_t address(const std::vector<std::byte>& of, size_t offset) {
  return static_cast<int64_t>(reinterpret_cast<intptr_t>(of.data() + offset));
}

TEST(Fp8Product, TheLibraryIsAskedInItsTerms) {
  const std::vector<std::byte> x(2 * 16 * 48), w(64 * 48 + 16 + 4 * (64 + 32)), b(256);
  std::vector<std::byte> y(2 * 16 * 64 * 2);
  const Asked bytes = ask(quantized(), {x.data(), w.data(), b.data()}, y.data());
  const std::map<int, int64_t> expected{{CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T},
                                        {CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N},
                                        {CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_GELU_BIAS},
                                        {CUBLASLT_MATMUL_DESC_FAST_ACCUM, 0},
                                        {CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, CUDA_R_16BF},
                                        {CUBLASLT_MATMUL_DESC_BIAS_POINTER, address(b, 0)},
                                        {CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, address(w, 64 * 48)}};
  EXPECT_EQ(bytes.attributes, expected);
  const std::vector<std::pair<int, std::pair<uint64_t, uint64_t>>> layouts{
      {CUDA_R_8F_E4M3, {48, 64}}, {CUDA_R_8F_E4M3, {48, 32}}, {CUDA_R_16BF, {64, 32}}, {CUDA_R_8F_E4M3, {64, 32}}};
  EXPECT_EQ(bytes.layouts, layouts);
  EXPECT_EQ(bytes.alpha, 0.125F);
  EXPECT_EQ(bytes.beta, 0);
  EXPECT_EQ(bytes.c, nullptr);

  const Asked columns = ask(problem_of(DType::kF16, by_column()), {x.data(), w.data()}, y.data());
  EXPECT_EQ(columns.attributes.at(CUBLASLT_MATMUL_DESC_A_SCALE_MODE), CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F);
  EXPECT_EQ(columns.attributes.at(CUBLASLT_MATMUL_DESC_B_SCALE_MODE), CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F);
  EXPECT_EQ(columns.attributes.at(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER), address(w, 64 * 48 + 16));
  EXPECT_EQ(columns.attributes.at(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER), address(w, 64 * 48 + 16 + 4 * 64));
  EXPECT_EQ(columns.attributes.count(CUBLASLT_MATMUL_DESC_D_SCALE_POINTER), 0u);
  EXPECT_EQ(columns.alpha, 1);
}

TEST(Fp8Product, AResidualIsC) {
  Problem p = problem_of(DType::kF16);
  p.inputs.push_back(tensor(DType::kF16, {2, 16, 64}));
  PointwiseExpr e;
  const uint16_t x = e.input(0, DType::kF32);
  const uint16_t r = e.push(PwOp::kCast, DType::kF32, e.input(1, DType::kF16));
  e.outputs = {e.push(PwOp::kCast, DType::kF16, e.push(PwOp::kAdd, DType::kF32, x, r))};
  p.epilogue = std::move(e);
  const std::vector<std::byte> data(64 * 48 + 16);
  std::vector<std::byte> y(2 * 16 * 64 * 2), residual(y.size());
  const Asked all = ask(p, {data.data(), data.data(), residual.data()}, y.data());
  EXPECT_EQ(all.beta, 1);
  EXPECT_EQ(all.c, residual.data());
  EXPECT_EQ(all.d, y.data());
}

}  // namespace
}  // namespace wootz::cuda
