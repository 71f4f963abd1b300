// The part of NVRTC's C interface that is used here: see api/driver.h.
#pragma once

#include <cstddef>

struct _nvrtcProgram;

namespace wootz::cuda {

using nvrtcProgram = ::_nvrtcProgram*;
enum nvrtcResult : int { NVRTC_SUCCESS = 0 };

struct Nvrtc {
  const char* (*nvrtcGetErrorString)(nvrtcResult) = nullptr;
#define FN(name, ...) nvrtcResult (*name)(__VA_ARGS__) = nullptr;
#include "backends/cuda/api/nvrtc_functions.def"
#undef FN
};

}  // namespace wootz::cuda
