// Bases of plugins, plugin creators and plugin fields.
#ifndef NV_INFER_PLUGIN_BASE_H
#define NV_INFER_PLUGIN_BASE_H

#include "NvInferRuntimeBase.h"
#include "wootz/plugin_base.h"
#include "wootz/plugin_field.h"

#endif  // NV_INFER_PLUGIN_BASE_H
