// A layer that TensorRT does not have, as a plugin of version 3: each row is turned by some places, and what leaves on
// the right comes back on the left.
#pragma once

#include <NvInfer.h>

#include <string>

namespace example {

class RollCreator final : public nvinfer1::IPluginCreatorV3One {
 public:
  static constexpr const char* kName = "ExampleRoll";
  static constexpr const char* kVersion = "1";

  RollCreator();
  // Takes one field: "shift", a number of places.
  nvinfer1::IPluginV3* createPlugin(const char* name, const nvinfer1::PluginFieldCollection* fields,
                                    nvinfer1::TensorRTPhase phase) noexcept override;
  const nvinfer1::PluginFieldCollection* getFieldNames() noexcept override { return &fields_; }
  const char* getPluginName() const noexcept override { return kName; }
  const char* getPluginVersion() const noexcept override { return kVersion; }
  const char* getPluginNamespace() const noexcept override { return ""; }

  // Plugins that are alive: what makes them must end them.
  static int alive();

 private:
  nvinfer1::PluginField field_;
  nvinfer1::PluginFieldCollection fields_;
};

}  // namespace example
