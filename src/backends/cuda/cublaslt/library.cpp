#include "backends/cuda/cublaslt/library.h"

#include "backends/cuda/driver.h"
#include "backends/cuda/dynamic_library.h"

namespace wootz::cuda {
namespace {

Result<CublasLt> open() {
  WOOTZ_ASSIGN_OR_RETURN(void* library, open_library({"libcublasLt.so.13", "libcublasLt.so.12"}));
  CublasLt table;
#define FN(name, ...) \
  if (!find_symbol(library, #name, &table.name)) return unsupported("libcublasLt has no function " #name);
#include "backends/cuda/api/cublaslt_functions.def"
  FN(cublasLtGetVersion)
#undef FN
  if (const Result<const Gpu*> found = gpu(); found.ok() && (*found)->enter().ok())
    if (table.cublasLtCreate(&table.handle) != CUBLAS_STATUS_SUCCESS) table.handle = nullptr;
  return table;
}

}  // namespace

Result<const CublasLt*> cublaslt() {
  if (driver_is_stand_in()) return unsupported("the stand-in has no cuBLASLt");
  static const Result<CublasLt> table = open();
  if (!table.ok()) return table.status();
  return &*table;
}

}  // namespace wootz::cuda
