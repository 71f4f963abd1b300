// The plugin interfaces that Python bindings implement.
#ifndef NV_INFER_PYTHON_PLUGIN_H
#define NV_INFER_PYTHON_PLUGIN_H

#include "NvInferPlugin.h"
#include "wootz/plugin_quick.h"
#include "wootz/plugin_quick_launch.h"

#endif  // NV_INFER_PYTHON_PLUGIN_H
