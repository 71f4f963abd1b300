#include "backends/cuda/cublaslt/library.h"

#include <mutex>

#include "backends/cuda/device/dynamic_library.h"
#include "backends/cuda/device/gpu.h"

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
  return table;
}

// A GPU's own.
struct OfGpu {
  std::once_flag once;
  CublasLt table;
};

}  // namespace

Result<const CublasLt*> cublaslt(const Gpu* gpu) {
  if (const Driver* const loaded = loaded_driver(); loaded != nullptr && !loaded->libraries)
    return unsupported("an emulated GPU has no cuBLASLt");
  static const Result<CublasLt> table = open();
  if (!table.ok()) return table.status();
  if (gpu == nullptr) return &*table;
  auto& own = gpu->part<OfGpu>();
  std::call_once(own.once, [&] {
    own.table = *table;
    const GpuScope scope(*gpu);
    if (own.table.cublasLtCreate(&own.table.handle) != CUBLAS_STATUS_SUCCESS) own.table.handle = nullptr;
  });
  return &own.table;
}

}  // namespace wootz::cuda
