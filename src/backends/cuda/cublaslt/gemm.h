// Products as cuBLASLt computes them: of what problem, by which descriptors.
#pragma once

#include "backend/kernel.h"
#include "backends/cuda/cublaslt/library.h"
#include "backends/cuda/cublaslt/product.h"

namespace wootz::cuda {

// Errors: what the library cannot do, and why. `tf32`: operands of f32 may be rounded to it.
Result<Product> describe_product(const Problem& problem, std::span<const Dims> inputs, const Dims& output, bool tf32);

// An algorithm's identity is its bytes, two of which cuBLASLt leaves as they were in memory: those before the version
// of the library, in the same word. They become zero, so that the same algorithm is the same tactic in every build.
void clear_leftovers(cublasLtMatmulAlgo_t* algo, size_t version);

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
  Status describe(cublasComputeType_t compute);
  // Where operands are that the descriptor points to.
  void set_pointers(cublasLtMatmulDesc_t desc, const void* weights, const void* bias) const;
  const CublasLt& lt_;
  Product product_;
  cublasLtMatmulDesc_t desc_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, c_ = nullptr, d_ = nullptr;
};

}  // namespace wootz::cuda
