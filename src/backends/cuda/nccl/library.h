// NCCL, opened at run time.
#pragma once

#include <string>

#include "backends/cuda/api/nccl.h"
#include "base/status.h"

namespace wootz::cuda {

// Errors: no library. It is the one that the process has open already, where it has one: communicators that an
// application made are that one's.
Result<const NcclFunctions*> nccl();
// "2.27.7".
Result<std::string> nccl_version();

// What a call returned. `comm` is null where it concerns none; one that does not block is waited for.
Status check(const NcclFunctions& api, ncclComm_t comm, ncclResult_t result, const char* call);

#define WOOTZ_NCCL_RETURN_IF_ERROR(api, comm, call, ...) \
  WOOTZ_RETURN_IF_ERROR(::wootz::cuda::check(api, comm, (api).call(__VA_ARGS__), #call))

}  // namespace wootz::cuda
