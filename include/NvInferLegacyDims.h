// Dims of a fixed length.
#ifndef NV_INFER_LEGACY_DIMS_H
#define NV_INFER_LEGACY_DIMS_H

#include "NvInferRuntimeBase.h"
#include "wootz/legacy_dims.h"

#endif  // NV_INFER_LEGACY_DIMS_H
