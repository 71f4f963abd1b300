// Quick plugins (NvInferPythonPlugin.h) as objects that run. Those that were compiled while building are object_aot.h.
#pragma once

#include <memory>

#include "api/runtime/public.h"
#include "backend/plugin.h"
#include "wootz/plugin_quick.h"

namespace wootz::api {

// Whether it has the capabilities of a Quick plugin, and not those of IPluginV3One*.
bool is_quick(nvinfer1::IPluginV3& plugin);
Result<nvinfer1::IPluginV3QuickRuntime*> quick_runtime_of(nvinfer1::IPluginV3& plugin);

// Takes over a plugin that is configured, where it has to be; sets the tactic.
Result<std::shared_ptr<PluginObject>> make_object_quick(std::unique_ptr<nvinfer1::IPluginV3> plugin, int32_t tactic);

}  // namespace wootz::api
