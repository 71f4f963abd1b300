#include "backends/cuda/nccl/library.h"

#include <thread>

#include "backends/cuda/device/driver.h"
#include "backends/cuda/device/dynamic_library.h"

namespace wootz::cuda {
namespace {

Result<NcclFunctions> open() {
  WOOTZ_ASSIGN_OR_RETURN(void* library, open_library({"libnccl.so.2", "libnccl.so"}));
  NcclFunctions table;
#define FN(name, ...) \
  if (!find_symbol(library, #name, &table.name)) return unsupported("libnccl has no function " #name);
#include "backends/cuda/api/nccl_functions.def"
  FN(ncclGetErrorString)
#undef FN
  return table;
}

}  // namespace

Result<const NcclFunctions*> nccl() {
  if (const Driver* const loaded = loaded_driver(); loaded != nullptr && !loaded->libraries)
    return unsupported("an emulated GPU has no NCCL");
  static const Result<NcclFunctions> table = open();
  if (!table.ok()) return table.status().with_prefix("NCCL");
  return &*table;
}

Result<std::string> nccl_version() {
  WOOTZ_ASSIGN_OR_RETURN(const NcclFunctions* const api, nccl());
  int v = 0;
  WOOTZ_NCCL_RETURN_IF_ERROR(*api, nullptr, ncclGetVersion, &v);
  return fmt::format("{}.{}.{}", v / 10000, v / 100 % 100, v % 100);
}

Status check(const NcclFunctions& api, ncclComm_t comm, ncclResult_t result, const char* call) {
  while (result == ncclInProgress && comm != nullptr) {
    std::this_thread::yield();
    if (const ncclResult_t asked = api.ncclCommGetAsyncError(comm, &result); asked != ncclSuccess) result = asked;
  }
  if (result == ncclSuccess) return Status();
  return make_error(Code::kInternal, "{}: {} (ncclResult_t {})", call, api.ncclGetErrorString(result),
                    static_cast<int>(result));
}

}  // namespace wootz::cuda
