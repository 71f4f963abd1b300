// The safety runtime is not offered; this header lets programs that include it compile.
#ifndef NV_INFER_SAFE_RUNTIME_H
#define NV_INFER_SAFE_RUNTIME_H

#include "NvInferRuntimeBase.h"
#include "NvInferRuntimeCommon.h"

#endif  // NV_INFER_SAFE_RUNTIME_H
