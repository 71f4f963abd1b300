// Nodes of ONNX models as plugins: an operator's name is the creator's, and attributes are its fields.
#pragma once

#include "api/runtime/plugin_registry.h"
#include "onnx/plugin_request.h"

namespace wootz::api {

// The registry must outlive the function.
PluginFunction plugins_from(PluginRegistry& registry);

}  // namespace wootz::api
