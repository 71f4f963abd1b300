// cudaStream_t and cudaEvent_t, the only CUDA names in the public API. With a CUDA toolkit on the include path they
// come from its header, so that clients get the toolkit's whole runtime API as they expect; without one (or with
// WOOTZ_NO_CUDA_HEADERS) the same opaque handles are declared here. Both ways give the same types.
#pragma once

#if defined(__has_include) && !defined(WOOTZ_NO_CUDA_HEADERS)
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#define WOOTZ_HAS_CUDA_HEADERS 1
#endif
#endif

#if !defined(WOOTZ_HAS_CUDA_HEADERS)
/// Order of device work. On a CPU engine: a host stream of ours, or null for synchronous execution.
typedef struct CUstream_st* cudaStream_t;
/// A point in a stream's order.
typedef struct CUevent_st* cudaEvent_t;
#endif

// Handles that V2 plugins may be offered; never dereferenced here.
struct cublasContext;
struct cudnnContext;
