// A product as cuBLASLt sees it.
#pragma once

#include "backend/kernel.h"
#include "backends/cuda/cublaslt/library.h"

namespace wootz::cuda {

// In cuBLAS's column-major terms: D (n x m) = act(alpha * op(B) (n x k) * op(A) (k x m) + C + bias).
struct Product {
  int64_t m = 0, n = 0, k = 0, batch = 1;
  bool trans_a = false, trans_b = false;
  int64_t stride_a = 0, stride_b = 0, stride_c = 0;  // of the batch
  double alpha = 1;
  int bias = -1;    // input that is added to every row
  int addend = -1;  // input of the result's shape
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  cudaDataType_t type = CUDA_R_32F, out_type = CUDA_R_32F;
};

// Errors: what the library cannot do, and why.
Result<Product> describe_product(const Problem& problem, std::span<const Dims> inputs, const Dims& output);

// Descriptors for a product; freed with it.
class ProductPlan {
 public:
  static Result<std::unique_ptr<ProductPlan>> create(const CublasLt& lt, const Product& product, bool tf32);
  ~ProductPlan();
  ProductPlan(const ProductPlan&) = delete;
  ProductPlan& operator=(const ProductPlan&) = delete;
  // The library's proposals, best first.
  Result<std::vector<cublasLtMatmulHeuristicResult_t>> proposals(size_t workspace, int most) const;
  // Whether the library still takes an algorithm; fills in its workspace.
  bool accepts(const cublasLtMatmulAlgo_t& algo, size_t* workspace) const;
  Status run(const cublasLtMatmulAlgo_t& algo, const RunArgs& args, size_t workspace, CUstream stream) const;

 private:
  ProductPlan(const CublasLt& lt, const Product& product) : lt_(lt), product_(product) {}
  const CublasLt& lt_;
  Product product_;
  cublasLtMatmulDesc_t desc_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, d_ = nullptr;
};

}  // namespace wootz::cuda
