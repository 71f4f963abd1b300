// The exported symbols, made of the table: each call's failure becomes the thread's last error, no exception leaves,
// and every name is there in the version that programs for CUDA 11, 12 and 13 ask for.
#include <atomic>
#include <cstdio>
#include <new>

#include "calls.h"
#include "cuda_runtime_api.h"  // what is defined here is what the header declares
#include "errors.h"

#define WOOTZ_EXPORT extern "C" __attribute__((visibility("default")))
// A symbol that versions 11 and 12 know by the same name: exports.map makes it version 13's.
#define ALSO_11(symbol, name) asm(".symver " #symbol ", " #name "@libcudart.so.11.0");
#define ALSO_12(symbol, name) asm(".symver " #symbol ", " #name "@libcudart.so.12");

namespace wootz::hostcuda {
namespace {

template <typename Call>
cudaError_t checked(Call call) noexcept {
  cudaError_t error = cudaErrorUnknown;
  try {
    error = call();
  } catch (const std::bad_alloc&) {
    error = cudaErrorMemoryAllocation;
  } catch (...) {
  }
  if (error != cudaSuccess) set_last_error(error);
  return error;
}

thread_local int g_null_is_own = 0;

}  // namespace

OwnDefaultStream::OwnDefaultStream() { ++g_null_is_own; }
OwnDefaultStream::~OwnDefaultStream() { --g_null_is_own; }
bool null_is_own_stream() { return g_null_is_own > 0; }

}  // namespace wootz::hostcuda

using wootz::hostcuda::checked;
using wootz::hostcuda::OwnDefaultStream;

#define DEFINE(symbol, name, parameters, arguments)                  \
  WOOTZ_EXPORT cudaError_t symbol parameters {                       \
    return checked([&] { return wootz::hostcuda::name arguments; }); \
  }
#define DEFINE_OWN(symbol, name, parameters, arguments)              \
  WOOTZ_EXPORT cudaError_t symbol parameters {                       \
    const OwnDefaultStream scope;                                    \
    return checked([&] { return wootz::hostcuda::name arguments; }); \
  }

#define FN_13(name, parameters, arguments) DEFINE(name, name, parameters, arguments)
#define FN_13_STREAM(name, parameters, arguments) \
  FN_13(name, parameters, arguments)              \
  DEFINE_OWN(name##_ptsz, name, parameters, arguments)
#define FN(name, parameters, arguments) FN_13(name, parameters, arguments) ALSO_11(name, name) ALSO_12(name, name)
#define FN_STREAM(name, parameters, arguments)         \
  FN(name, parameters, arguments)                      \
  DEFINE_OWN(name##_ptsz, name, parameters, arguments) \
  ALSO_11(name##_ptsz, name##_ptsz) ALSO_12(name##_ptsz, name##_ptsz)
#define FN_BLOCK(name, parameters, arguments)          \
  FN(name, parameters, arguments)                      \
  DEFINE_OWN(name##_ptds, name, parameters, arguments) \
  ALSO_11(name##_ptds, name##_ptds) ALSO_12(name##_ptds, name##_ptds)
#define FN_11(symbol, name, parameters, arguments) \
  DEFINE(wootz11_##symbol, name, parameters, arguments) ALSO_11(wootz11_##symbol, symbol)
#define FN_12(symbol, name, parameters, arguments) \
  DEFINE(wootz12_##symbol, name, parameters, arguments) ALSO_12(wootz12_##symbol, symbol)
#define FN_OLD(symbol, name, parameters, arguments)     \
  DEFINE(wootz11_##symbol, name, parameters, arguments) \
  ALSO_11(wootz11_##symbol, symbol) ALSO_12(wootz11_##symbol, symbol)
#define FN_OLD_STREAM(symbol, name, parameters, arguments)         \
  FN_OLD(symbol, name, parameters, arguments)                      \
  DEFINE_OWN(wootz11_##symbol##_ptsz, name, parameters, arguments) \
  ALSO_11(wootz11_##symbol##_ptsz, symbol##_ptsz) ALSO_12(wootz11_##symbol##_ptsz, symbol##_ptsz)
#include "functions.def"

WOOTZ_EXPORT cudaError_t cudaGetLastError() { return wootz::hostcuda::take_last_error(); }
WOOTZ_EXPORT cudaError_t cudaPeekAtLastError() { return wootz::hostcuda::last_error(); }
WOOTZ_EXPORT const char* cudaGetErrorName(cudaError_t error) { return wootz::hostcuda::error_name(error); }
WOOTZ_EXPORT const char* cudaGetErrorString(cudaError_t error) { return wootz::hostcuda::error_text(error); }
ALSO_11(cudaGetLastError, cudaGetLastError)
ALSO_12(cudaGetLastError, cudaGetLastError)
ALSO_11(cudaPeekAtLastError, cudaPeekAtLastError)
ALSO_12(cudaPeekAtLastError, cudaPeekAtLastError)
ALSO_11(cudaGetErrorName, cudaGetErrorName)
ALSO_12(cudaGetErrorName, cudaGetErrorName)
ALSO_11(cudaGetErrorString, cudaGetErrorString)
ALSO_12(cudaGetErrorString, cudaGetErrorString)

namespace {

cudaError_t refuse(const char* name, std::atomic<bool>& said) noexcept {
  if (!said.exchange(true))
    std::fprintf(stderr, "libwootz_hostcuda: %s is not supported: there is no GPU to do it (docs/hostcuda.md)\n", name);
  wootz::hostcuda::set_last_error(cudaErrorNotSupported);
  return cudaErrorNotSupported;
}

}  // namespace

// Arguments are not looked at: the caller takes them back.
#define REFUSED(name)                      \
  WOOTZ_EXPORT cudaError_t name() {        \
    static std::atomic<bool> said = false; \
    return refuse(#name, said);            \
  }                                        \
  ALSO_11(name, name) ALSO_12(name, name)
#include "refused.def"
