// The part of NCCL's C interface that is used here: see api/driver.h.
#pragma once

#include <cstddef>

#include "backends/cuda/api/driver.h"

struct ncclComm;

namespace wootz::cuda {

enum ncclResult_t : int { ncclSuccess = 0, ncclInProgress = 7 };
enum ncclDataType_t : int {
  ncclInt8 = 0,
  ncclUint8 = 1,
  ncclInt32 = 2,
  ncclUint32 = 3,
  ncclInt64 = 4,
  ncclUint64 = 5,
  ncclFloat16 = 6,
  ncclFloat32 = 7,
  ncclFloat64 = 8,
  ncclBfloat16 = 9,
};
enum ncclRedOp_t : int { ncclSum = 0, ncclProd = 1, ncclMax = 2, ncclMin = 3, ncclAvg = 4 };
inline constexpr int kNcclNoColor = -1;  // NCCL_SPLIT_NOCOLOR, which is a macro there

using ncclComm_t = ::ncclComm*;
struct ncclConfig_t;  // never given

struct NcclFunctions {
  const char* (*ncclGetErrorString)(ncclResult_t) = nullptr;
#define FN(name, ...) ncclResult_t (*name)(__VA_ARGS__) = nullptr;
#include "backends/cuda/api/nccl_functions.def"
#undef FN
};

}  // namespace wootz::cuda
