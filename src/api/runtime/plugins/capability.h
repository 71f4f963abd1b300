// Capabilities of V3 plugins, by their kinds.
#pragma once

#include <cstring>

#include "api/runtime/plugins/describe.h"

namespace wootz::api {

// Whether the plugin has the capability, of this kind.
inline bool has_kind(nvinfer1::IPluginV3& plugin, nvinfer1::PluginCapabilityType type, const char* kind) {
  nvinfer1::IPluginCapability* const part = plugin.getCapabilityInterface(type);
  const char* const is = part == nullptr ? nullptr : part->getInterfaceInfo().kind;
  return is != nullptr && std::strcmp(is, kind) == 0;
}

// Errors: it has none, or one of another kind.
template <class C>
Result<C*> capability(nvinfer1::IPluginV3& plugin, nvinfer1::PluginCapabilityType type, const char* kind) {
  nvinfer1::IPluginCapability* const part = plugin.getCapabilityInterface(type);
  if (part == nullptr) return make_error(Code::kInvalidState, "the plugin gives no capability {}", kind);
  const nvinfer1::InterfaceInfo info = part->getInterfaceInfo();
  if (info.kind == nullptr || std::strcmp(info.kind, kind) != 0)
    return unsupported("the plugin's capability is of kind '{}', here '{}' is known", text_of(info.kind), kind);
  return static_cast<C*>(part);
}

}  // namespace wootz::api
