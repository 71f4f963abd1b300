// Types that everything else rests on: data types, dims, versions, error codes, the logger.
#ifndef NV_INFER_RUNTIME_BASE_H
#define NV_INFER_RUNTIME_BASE_H

#include "NvInferVersion.h"
#include "wootz/char_types.h"
#include "wootz/cuda_types.h"
#include "wootz/dims.h"
#include "wootz/dtype.h"
#include "wootz/error_recorder.h"
#include "wootz/forward.h"
#include "wootz/logger.h"
#include "wootz/macros.h"
#include "wootz/runtime_factory.h"
#include "wootz/tensor_enums.h"
#include "wootz/versioned_interface.h"

#endif  // NV_INFER_RUNTIME_BASE_H
