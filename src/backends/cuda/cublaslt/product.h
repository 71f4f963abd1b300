// A product as cuBLASLt sees it.
#pragma once

#include "backends/cuda/api/cublaslt.h"
#include "base/pointwise.h"

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
  // Of floats of 8 bits (fp8.h): the types of the weights, of C and of the bias.
  bool fp8 = false;
  cudaDataType_t w_type = CUDA_R_32F, c_type = CUDA_R_32F, bias_type = CUDA_R_32F;
  bool by_column = false;  // a scale for each column, in the packed weights; otherwise alpha is all there is
  bool fast = false;       // sums as the tensor cores keep them, and not moved to full f32 every few steps
  double out_factor = 1;   // of a result in 8 bits, before it is rounded
};

// Of an activation (kInput: none) after the bias.
inline cublasLtEpilogue_t library_epilogue(PwOp activation, bool bias) {
  if (activation == PwOp::kInput) return bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
  if (activation == PwOp::kRelu) return bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
  return bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
}

}  // namespace wootz::cuda
