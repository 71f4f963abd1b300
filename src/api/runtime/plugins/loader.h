// Plugins of a plan that is loaded: found again by name, version and namespace, and made by their creators.
#pragma once

#include <memory>

#include "api/runtime/plugin_registry.h"
#include "backend/plugin.h"
#include "wootz/plugin_quick.h"

namespace wootz::api {

// Keeps the registry, and with it the libraries that it opened. `native`: kernels that came with the plan may be run.
std::shared_ptr<const PluginSource> plugin_loader(std::shared_ptr<PluginRegistry> registry, bool native);

// The creator under these names. Errors: there is none, with those that are registered.
Result<nvinfer1::IPluginCreatorInterface*> find_creator(PluginRegistry& registry, const std::string& name,
                                                        const std::string& version, const std::string& space);
// What sort of creator it is; null: of another one.
nvinfer1::IPluginCreator* as_creator_v2(nvinfer1::IPluginCreatorInterface* creator);
nvinfer1::IPluginCreatorV3One* as_creator_v3(nvinfer1::IPluginCreatorInterface* creator);
nvinfer1::IPluginCreatorV3Quick* as_creator_quick(nvinfer1::IPluginCreatorInterface* creator);

}  // namespace wootz::api
