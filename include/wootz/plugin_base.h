// What V3 plugins and all plugin creators are made from: IPluginV3, IPluginCapability, IPluginResource,
// IPluginCreatorInterface.
#pragma once

#include <cstdint>

#include "wootz/enum_max.h"
#include "wootz/versioned_interface.h"

namespace nvinfer1 {

/// What a plugin is being created for.
enum class TensorRTPhase : int32_t {
  kBUILD = 0,
  kRUNTIME = 1,
};

template <>
struct impl::EnumMaxImpl<TensorRTPhase> {
  static constexpr int32_t kVALUE = 2;
};

/// The parts of a V3 plugin, each an interface of its own.
enum class PluginCapabilityType : int32_t {
  /// IPluginV3OneCore: name, version, namespace.
  kCORE = 0,
  /// IPluginV3OneBuild: shapes, types, formats, tactics.
  kBUILD = 1,
  /// IPluginV3OneRuntime: running and serializing.
  kRUNTIME = 2,
};

template <>
struct impl::EnumMaxImpl<PluginCapabilityType> {
  static constexpr int32_t kVALUE = 3;
};

namespace v_1_0 {

/// Root of the interfaces that answer for a PluginCapabilityType.
class IPluginCapability : public IVersionedInterface {};

/// Something that plugins of one process share, such as a communicator: see IPluginRegistry::acquirePluginResource.
class IPluginResource : public IVersionedInterface {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"IPluginResource", 1, 0}; }

  /// Frees what the resource holds; the object itself is deleted afterwards. 0 on success. Called on clones only, and
  /// must not rely on other plugin resources.
  virtual int32_t release() noexcept = 0;

  /// The object that the registry keeps: a copy holding a freshly acquired resource. Null on failure.
  virtual IPluginResource* clone() noexcept = 0;

  IPluginResource() = default;
  ~IPluginResource() noexcept override = default;
  IPluginResource(const IPluginResource&) = default;
  IPluginResource(IPluginResource&&) = default;
  IPluginResource& operator=(const IPluginResource&) & = default;
  IPluginResource& operator=(IPluginResource&&) & = default;
};

/// Root of the plugin creators that a registry holds. Which kind one is, its InterfaceInfo says.
class IPluginCreatorInterface : public IVersionedInterface {
 public:
  ~IPluginCreatorInterface() noexcept override = default;

 protected:
  IPluginCreatorInterface() = default;
  IPluginCreatorInterface(const IPluginCreatorInterface&) = default;
  IPluginCreatorInterface(IPluginCreatorInterface&&) = default;
  IPluginCreatorInterface& operator=(const IPluginCreatorInterface&) & = default;
  IPluginCreatorInterface& operator=(IPluginCreatorInterface&&) & = default;
};

/// A V3 plugin: one object with a core, a build and a runtime capability.
class IPluginV3 : public IVersionedInterface {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"PLUGIN", 1, 0}; }

  /// The part of this plugin that answers for `type`; the plugin keeps it. Null where it has none: a plugin created for
  /// the runtime phase needs no build part.
  virtual IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept = 0;

  /// An equal plugin, owned by the caller. Null on failure.
  virtual IPluginV3* clone() noexcept = 0;
};

}  // namespace v_1_0

using IPluginCapability = v_1_0::IPluginCapability;
using IPluginResource = v_1_0::IPluginResource;
using IPluginCreatorInterface = v_1_0::IPluginCreatorInterface;
using IPluginV3 = v_1_0::IPluginV3;

}  // namespace nvinfer1
