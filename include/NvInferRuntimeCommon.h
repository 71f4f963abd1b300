// The plugin registry, with all that it mentions.
#ifndef NV_INFER_RUNTIME_COMMON_H
#define NV_INFER_RUNTIME_COMMON_H

#include "NvInferRuntimeBase.h"
#include "NvInferRuntimePlugin.h"
#include "wootz/plugin_registry.h"

#endif  // NV_INFER_RUNTIME_COMMON_H
