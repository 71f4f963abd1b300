// Forward declarations and flag types. Nothing more stands behind this header here: the classes of the API are pure
// virtual and need no second set of implementation classes.
#ifndef NV_INFER_IMPL_H
#define NV_INFER_IMPL_H

#include "NvInferRuntimeBase.h"
#include "wootz/forward.h"
#include "wootz/plugin_base.h"

#endif  // NV_INFER_IMPL_H
