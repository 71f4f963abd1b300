// V3 plugins as objects that run.
#pragma once

#include <memory>

#include "api/runtime/public.h"
#include "backend/plugin.h"

namespace wootz::api {

// The capability, if the plugin has it and it is of the kind known here; `what`: of its class, for messages.
Result<nvinfer1::IPluginV3OneCore*> core_of(nvinfer1::IPluginV3& plugin);
Result<nvinfer1::IPluginV3OneBuild*> build_of(nvinfer1::IPluginV3& plugin);
Result<nvinfer1::IPluginV3OneRuntime*> runtime_of(nvinfer1::IPluginV3& plugin);
// The second version of the build capability; null: the plugin has the first.
nvinfer1::IPluginV3OneBuildV2* second_build(nvinfer1::IPluginV3OneBuild* build);

// Takes over a plugin that is configured, where it has to be; sets the tactic.
Result<std::shared_ptr<PluginObject>> make_object_v3(std::unique_ptr<nvinfer1::IPluginV3> plugin, int32_t tactic,
                                                     size_t workspace);

}  // namespace wootz::api
