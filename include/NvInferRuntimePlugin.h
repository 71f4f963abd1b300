// V2 plugins and their creators.
#ifndef NV_INFER_RUNTIME_PLUGIN_H
#define NV_INFER_RUNTIME_PLUGIN_H

#include "NvInferPluginBase.h"
#include "NvInferRuntimeBase.h"
#include "wootz/plugin_tensor.h"
#include "wootz/plugin_v2.h"

#endif  // NV_INFER_RUNTIME_PLUGIN_H
