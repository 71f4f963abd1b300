// V2 plugins as objects that run. The header of what each class of them asks for.
#pragma once

#include <memory>

#include "api/runtime/public.h"
#include "backend/plugin.h"

namespace wootz::api {

struct DestroyV2 {
  void operator()(nvinfer1::IPluginV2* plugin) const { plugin->destroy(); }
};
using OwnedV2 = std::unique_ptr<nvinfer1::IPluginV2, DestroyV2>;

// Which of the classes it derives from. Errors: the oldest, or none that is known.
Result<nvinfer1::PluginVersion> version_of(const nvinfer1::IPluginV2& plugin);

// Tells it what it will run on: all extents must be known where the class knows no others.
Status configure_v2(nvinfer1::IPluginV2& plugin, const PluginTensors& tensors);
Result<size_t> workspace_v2(const nvinfer1::IPluginV2& plugin, const PluginTensors& tensors);

// Takes over a plugin that is configured, and initializes it.
Result<std::shared_ptr<PluginObject>> make_object_v2(OwnedV2 plugin);

}  // namespace wootz::api
