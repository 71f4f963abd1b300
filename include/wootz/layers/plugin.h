// Layers that hold a plugin.
#pragma once
#if defined(__GNUC__)
#pragma GCC system_header  // deprecated names refer to each other
#endif

#include "wootz/layer.h"
#include "wootz/plugin_base.h"
#include "wootz/plugin_v2.h"

namespace nvinfer1 {

/// A custom layer by a V2 plugin.
class TRT_DEPRECATED IPluginV2Layer : public ILayer {
 public:
  /// The network's own clone of the plugin.
  virtual IPluginV2& getPlugin() noexcept = 0;

 protected:
  ~IPluginV2Layer() noexcept override = default;
};

/// A custom layer by a V3 plugin.
class IPluginV3Layer : public ILayer {
 public:
  /// The network's own clone of the plugin.
  virtual IPluginV3& getPlugin() noexcept = 0;

 protected:
  ~IPluginV3Layer() noexcept override = default;
};

}  // namespace nvinfer1
