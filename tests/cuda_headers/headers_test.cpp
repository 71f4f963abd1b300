// src/backends/cuda/api against the headers of whatever toolkit is here: values, sizes, and what functions take.
#include <cuda.h>
#include <gtest/gtest.h>
#if __has_include(<nvrtc.h>)
#include <nvrtc.h>
#define HAVE_NVRTC 1
#endif
#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#define HAVE_CUBLASLT 1
#endif
#if __has_include(<cudnn.h>)
#include <cudnn.h>
#endif
#if __has_include(<nccl.h>)
#include <nccl.h>
#define HAVE_NCCL 1
#endif

#include "backends/cuda/api/cublaslt.h"
#include "backends/cuda/api/cudnn.h"
#include "backends/cuda/api/driver.h"
#include "backends/cuda/api/nccl.h"
#include "backends/cuda/api/nvrtc.h"

namespace {

namespace ours = wootz::cuda;

// Passed in the same way: the same type, or two enumerations, or two pointers, all of one size.
template <typename A, typename B>
constexpr bool kAlike = std::is_same_v<A, B> ||
                        (sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B> &&
                         std::is_floating_point_v<A> == std::is_floating_point_v<B> &&
                         std::is_class_v<A> == std::is_class_v<B>);

template <typename Theirs, typename Ours>
constexpr bool kCalledAlike = false;
template <typename R, typename... P, typename S, typename... Q>
constexpr bool kCalledAlike<R (*)(P...), S (*)(Q...)> = [] {
  if constexpr (sizeof...(P) != sizeof...(Q))
    return false;
  else if constexpr (std::is_void_v<R> || std::is_void_v<S>)
    return std::is_same_v<R, S> && (kAlike<P, Q> && ...);
  else
    return kAlike<R, S> && (kAlike<P, Q> && ...);
}();

#define SAME(name) static_assert(static_cast<long long>(ours::name) == static_cast<long long>(::name), #name);
#define SAME_SIZE(name) \
  static_assert(sizeof(ours::name) == sizeof(::name) && alignof(ours::name) == alignof(::name), #name);

SAME(CU_TENSOR_MAP_DATA_TYPE_FLOAT16)
SAME(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16)
SAME(CU_TENSOR_MAP_INTERLEAVE_NONE)
SAME(CU_TENSOR_MAP_SWIZZLE_128B)
SAME(CU_TENSOR_MAP_L2_PROMOTION_L2_256B)
SAME(CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
static_assert(sizeof(ours::CUtensorMap) == sizeof(::CUtensorMap) &&
              alignof(ours::CUtensorMap) >= alignof(::CUtensorMap));
SAME(CUDA_SUCCESS)
SAME(CUDA_ERROR_INVALID_VALUE)
SAME(CUDA_ERROR_OUT_OF_MEMORY)
SAME(CUDA_ERROR_STUB_LIBRARY)
SAME(CUDA_ERROR_ECC_UNCORRECTABLE)
SAME(CUDA_ERROR_INVALID_SOURCE)
SAME(CUDA_ERROR_INVALID_HANDLE)
SAME(CUDA_ERROR_ILLEGAL_STATE)
SAME(CUDA_ERROR_NOT_FOUND)
SAME(CUDA_ERROR_ILLEGAL_ADDRESS)
SAME(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)
SAME(CUDA_ERROR_LAUNCH_TIMEOUT)
SAME(CUDA_ERROR_CONTEXT_IS_DESTROYED)
SAME(CUDA_ERROR_ASSERT)
SAME(CUDA_ERROR_HARDWARE_STACK_ERROR)
SAME(CUDA_ERROR_ILLEGAL_INSTRUCTION)
SAME(CUDA_ERROR_MISALIGNED_ADDRESS)
SAME(CUDA_ERROR_INVALID_ADDRESS_SPACE)
SAME(CUDA_ERROR_INVALID_PC)
SAME(CUDA_ERROR_LAUNCH_FAILED)
SAME(CUDA_ERROR_NOT_SUPPORTED)
SAME(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
SAME(CUDA_ERROR_STREAM_CAPTURE_MERGE)
SAME(CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
SAME(CUDA_ERROR_STREAM_CAPTURE_ISOLATION)
SAME(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE)
SAME(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
SAME(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)
SAME(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
SAME(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
SAME(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS)
SAME(CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE)
SAME(CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE)
SAME(CU_LIMIT_PERSISTING_L2_CACHE_SIZE)
SAME(CU_ACCESS_PROPERTY_NORMAL)
SAME(CU_ACCESS_PROPERTY_STREAMING)
SAME(CU_ACCESS_PROPERTY_PERSISTING)
SAME(CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW)
SAME(CU_EVENT_BLOCKING_SYNC)
SAME(CU_EVENT_RECORD_EXTERNAL)
SAME(CU_MEM_ATTACH_GLOBAL)
SAME(CU_EVENT_DEFAULT)
SAME(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
SAME(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
SAME(CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
SAME(CU_POINTER_ATTRIBUTE_IS_MANAGED)
SAME(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
SAME(CU_MEMORYTYPE_HOST)
SAME(CU_MEMORYTYPE_DEVICE)
SAME(CU_STREAM_CAPTURE_STATUS_NONE)
SAME(CU_STREAM_CAPTURE_STATUS_ACTIVE)
SAME(CU_STREAM_CAPTURE_MODE_GLOBAL)
SAME(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
SAME(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
SAME(CU_STREAM_NON_BLOCKING)
SAME(CU_EVENT_DISABLE_TIMING)
SAME_SIZE(CUlaunchAttribute)
SAME_SIZE(CUaccessPolicyWindow)
SAME_SIZE(CUuuid)
SAME_SIZE(CUlaunchConfig)
SAME_SIZE(CUgraphExecUpdateResultInfo)
static_assert(offsetof(ours::CUlaunchConfig, hStream) == offsetof(::CUlaunchConfig, hStream) &&
              offsetof(ours::CUlaunchConfig, attrs) == offsetof(::CUlaunchConfig, attrs) &&
              offsetof(ours::CUlaunchConfig, numAttrs) == offsetof(::CUlaunchConfig, numAttrs) &&
              offsetof(ours::CUlaunchAttribute, value) == offsetof(::CUlaunchAttribute, value));
#define FN(name, ...) static_assert(kCalledAlike<decltype(&::name), decltype(ours::Driver::name)>, #name);
#include "backends/cuda/api/driver_functions.def"
#undef FN

#if defined(HAVE_NVRTC)
SAME(NVRTC_SUCCESS)
#define FN(name, ...) static_assert(kCalledAlike<decltype(&::name), decltype(ours::Nvrtc::name)>, #name);
#include "backends/cuda/api/nvrtc_functions.def"
FN(nvrtcGetErrorString)
#undef FN
#endif

#if defined(HAVE_CUBLASLT)
SAME(CUBLAS_STATUS_SUCCESS)
SAME(CUBLAS_COMPUTE_32F)
SAME(CUBLAS_COMPUTE_32F_FAST_TF32)
SAME(CUBLAS_OP_N)
SAME(CUBLAS_OP_T)
SAME(CUDA_R_32F)
SAME(CUDA_R_16F)
SAME(CUDA_R_16BF)
SAME(CUBLASLT_EPILOGUE_DEFAULT)
SAME(CUBLASLT_EPILOGUE_RELU)
SAME(CUBLASLT_EPILOGUE_BIAS)
SAME(CUBLASLT_EPILOGUE_RELU_BIAS)
SAME(CUBLASLT_EPILOGUE_GELU)
SAME(CUBLASLT_EPILOGUE_GELU_BIAS)
SAME(CUBLASLT_MATMUL_DESC_TRANSA)
SAME(CUBLASLT_MATMUL_DESC_TRANSB)
SAME(CUBLASLT_MATMUL_DESC_EPILOGUE)
SAME(CUBLASLT_MATMUL_DESC_BIAS_POINTER)
SAME(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)
SAME(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET)
SAME(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
SAME(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES)
SAME(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES)
SAME(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES)
SAME(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES)
SAME_SIZE(cublasLtMatmulAlgo_t)
SAME_SIZE(cublasLtMatmulHeuristicResult_t)
static_assert(sizeof(ours::cublasLtMatmulDescOpaque_t) >= sizeof(::cublasLtMatmulDescOpaque_t));
static_assert(offsetof(ours::cublasLtMatmulHeuristicResult_t, state) ==
              offsetof(::cublasLtMatmulHeuristicResult_t, state));
#define FN(name, ...) static_assert(kCalledAlike<decltype(&::name), decltype(ours::CublasLtFunctions::name)>, #name);
#include "backends/cuda/api/cublaslt_functions.def"
FN(cublasLtGetVersion)
#undef FN
#endif

#if defined(HAVE_NCCL)
SAME(ncclSuccess)
SAME(ncclInProgress)
SAME(ncclInt8)
SAME(ncclUint8)
SAME(ncclInt32)
SAME(ncclUint32)
SAME(ncclInt64)
SAME(ncclUint64)
SAME(ncclFloat16)
SAME(ncclFloat32)
SAME(ncclFloat64)
SAME(ncclBfloat16)
SAME(ncclSum)
SAME(ncclProd)
SAME(ncclMax)
SAME(ncclMin)
SAME(ncclAvg)
static_assert(ours::kNcclNoColor == NCCL_SPLIT_NOCOLOR);
#define FN(name, ...) static_assert(kCalledAlike<decltype(&::name), decltype(ours::NcclFunctions::name)>, #name);
#include "backends/cuda/api/nccl_functions.def"
FN(ncclGetErrorString)
#undef FN
#endif

#if defined(CUDNN_VERSION) && CUDNN_VERSION >= 91900
#define ENTRY(name, there, value) static_assert(static_cast<int>(there) == (value), #there);
#define KIND ENTRY
#define ATTRIBUTE ENTRY
#define VALUE_TYPE ENTRY
#define DATA_TYPE ENTRY
#define POINTWISE ENTRY
#define NOTE ENTRY
#define OTHER ENTRY
#include "backends/cuda/api/cudnn_values.def"
#if CUDNN_VERSION < 92200
#define CUDNN_KNOB_TYPE_INPUT_TMA_ENABLE 44
#define CUDNN_KNOB_TYPE_OUTPUT_TMA_ENABLE 45
#endif
#define KNOB(number, there, value) ENTRY(number, there, value)
#include "backends/cuda/api/cudnn_knobs.def"
#undef KNOB
#define FN(name, ...) static_assert(kCalledAlike<decltype(&::name), decltype(ours::cudnn::Functions::name)>, #name);
#include "backends/cuda/api/cudnn_functions.def"
FN(cudnnGetVersion)
FN(cudnnGetErrorString)
FN(cudnnGetLastErrorString)
#undef FN
#define HAVE_CUDNN 1
#endif

// The comparison is made while compiling: this tells what was compared.
TEST(CudaHeaders, DeclarationsAgree) {
  std::printf("compared with the headers of the driver %d", CUDA_VERSION);
#if defined(HAVE_NVRTC)
  std::printf(", NVRTC");
#endif
#if defined(HAVE_CUBLASLT)
  std::printf(", cuBLASLt");
#endif
#if defined(HAVE_CUDNN)
  std::printf(", cuDNN %d", CUDNN_VERSION);
#endif
  std::printf("\n");
}

}  // namespace
