// Layers that hold a plugin.
#pragma once
#if defined(__GNUC__)
#pragma GCC system_header  // deprecated names refer to each other
#endif

#include "wootz/layer.h"
#include "wootz/plugin_base.h"
#include "wootz/plugin_v2.h"

namespace nvinfer1 {

class TRT_DEPRECATED IPluginV2Layer : public ILayer {
 public:
  virtual IPluginV2& getPlugin() noexcept = 0;
};

class IPluginV3Layer : public ILayer {
 public:
  virtual IPluginV3& getPlugin() noexcept = 0;
};

}  // namespace nvinfer1
