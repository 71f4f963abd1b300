// The plugin of a layer, while the network is written and built: what its results are, how it can run, and objects of
// it that do.
#pragma once

#include <memory>

#include "api/public.h"
#include "api/runtime/plugins/object_v2.h"
#include "backend/plugin.h"
#include "ir/custom_op.h"

namespace wootz::api {

class NetworkPlugin : public CustomOp {
 public:
  // Whether type and layout of entry `pos` (inputs, then outputs) are acceptable, given those before it.
  virtual bool supports(const PluginTensors& tensors, size_t pos) = 0;
  virtual int most_forms() { return nvinfer1::IPluginV3OneBuild::kDEFAULT_FORMAT_COMBINATION_LIMIT; }
  // An object of its own: for asking, and for running.
  virtual Result<std::unique_ptr<NetworkPlugin>> clone() = 0;
  virtual Status configure(const PluginTensors& tensors) = 0;
  // Of a configured one.
  virtual Result<std::vector<int32_t>> tactics() { return std::vector<int32_t>{0}; }
  virtual Result<size_t> workspace(const PluginTensors& tensors) = 0;
  virtual std::string metadata() { return {}; }
  // It gives a kernel for a GPU, or a function for the host, and runs nowhere else.
  enum class Place { kAny, kGpu, kHost };
  virtual Place place() const { return Place::kAny; }
  // Gives up the plugin itself, configured.
  virtual Result<std::shared_ptr<PluginObject>> release(int32_t tactic, size_t workspace) = 0;
};

// Take a plugin over; adopt_plugin_v3 a Quick one too. Errors: it lacks what a network needs of it, with the callback
// or capability that is wrong.
Result<std::shared_ptr<NetworkPlugin>> adopt_plugin_v3(std::unique_ptr<nvinfer1::IPluginV3> plugin);
Result<std::shared_ptr<NetworkPlugin>> adopt_plugin_quick(std::unique_ptr<nvinfer1::IPluginV3> plugin);
Result<std::shared_ptr<NetworkPlugin>> adopt_plugin_v2(OwnedV2 plugin);

// The plugin itself, for IPluginV3Layer and IPluginV2Layer; null: it is of the other sort.
nvinfer1::IPluginV3* plugin_v3_of(const CustomOp* op);  // a Quick one too
nvinfer1::IPluginV3* plugin_quick_of(const CustomOp* op);
nvinfer1::IPluginV2* plugin_v2_of(const CustomOp* op);

}  // namespace wootz::api
