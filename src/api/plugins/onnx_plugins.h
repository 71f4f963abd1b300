// Nodes of ONNX models as plugins: an operator's name is the creator's, and attributes are its fields.
#pragma once

#include "api/runtime/plugin_registry.h"
#include "onnx/plugin_request.h"
#include "wootz/plugin_quick.h"

namespace wootz::api {

// The registry must outlive the function. `request`: which form a Quick plugin is asked for.
PluginFunction plugins_from(PluginRegistry& registry, nvinfer1::QuickPluginCreationRequest request);

}  // namespace wootz::api
