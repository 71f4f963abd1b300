// PluginRegistrar and REGISTER_TENSORRT_PLUGIN: registration of a plugin creator when its library is loaded.
#pragma once

#include "wootz/plugin_registry.h"
#include "wootz/runtime_factory.h"

namespace nvinfer1 {

/// Registers one static object of the creator class T with the process-wide registry.
template <typename T>
class PluginRegistrar {
 public:
  PluginRegistrar() { getPluginRegistry()->registerCreator(instance, ""); }

 private:
  T instance{};
};

}  // namespace nvinfer1

/// At namespace scope, for a default-constructible creator class.
#define REGISTER_TENSORRT_PLUGIN(name) \
  static nvinfer1::PluginRegistrar<name> pluginRegistrar##name {}
