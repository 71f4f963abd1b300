// IPluginCreatorV3One: makes V3 plugins.
#pragma once

#include "wootz/char_types.h"
#include "wootz/plugin_base.h"
#include "wootz/plugin_field.h"

namespace nvinfer1 {
namespace v_1_0 {

/// Implemented by the application, and known to a plugin registry under name, version and namespace.
class IPluginCreatorV3One : public IPluginCreatorInterface {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"PLUGIN CREATOR_V3ONE", 1, 0}; }

  /// A plugin named `name`. In the build phase `fc` holds attributes as getFieldNames lists them; in the runtime phase
  /// it holds what the plugin's getFieldsToSerialize gave. The caller owns the plugin. Null on failure.
  virtual IPluginV3* createPlugin(const AsciiChar* name, const PluginFieldCollection* fc,
                                  TensorRTPhase phase) noexcept = 0;

  /// Attributes that createPlugin understands; owned by the creator.
  virtual const PluginFieldCollection* getFieldNames() noexcept = 0;

  virtual const AsciiChar* getPluginName() const noexcept = 0;
  virtual const AsciiChar* getPluginVersion() const noexcept = 0;
  virtual const AsciiChar* getPluginNamespace() const noexcept = 0;

  IPluginCreatorV3One() = default;
  ~IPluginCreatorV3One() override = default;

 protected:
  IPluginCreatorV3One(const IPluginCreatorV3One&) = default;
  IPluginCreatorV3One(IPluginCreatorV3One&&) = default;
  IPluginCreatorV3One& operator=(const IPluginCreatorV3One&) & = default;
  IPluginCreatorV3One& operator=(IPluginCreatorV3One&&) & = default;
};

}  // namespace v_1_0

using IPluginCreatorV3One = v_1_0::IPluginCreatorV3One;

}  // namespace nvinfer1
