#include "api/runtime/plugins/object_v2.h"

#include <algorithm>
#include <mutex>

#include "api/runtime/convert.h"
#include "api/runtime/plugins/describe.h"
#include "api/runtime/plugins/logger_finder.h"
#include "api/runtime/plugins/services.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: calls that interface, line by line

namespace {

IPluginV2DynamicExt* as_dynamic(IPluginV2& plugin) {
  const Result<PluginVersion> version = version_of(plugin);
  return version.ok() && *version == PluginVersion::kV2_DYNAMICEXT ? static_cast<IPluginV2DynamicExt*>(&plugin)
                                                                   : nullptr;
}
const IPluginV2DynamicExt* as_dynamic(const IPluginV2& plugin) { return as_dynamic(const_cast<IPluginV2&>(plugin)); }

// As the class with neither ranges nor a format for each tensor wants it.
void configure_ext(IPluginV2Ext& plugin, const PluginDescs& descs) {
  std::vector<nvinfer1::Dims> in, out;
  std::vector<DataType> in_types, out_types;
  for (const PluginTensorDesc& d : descs.inputs) in.push_back(d.dims), in_types.push_back(d.type);
  for (const PluginTensorDesc& d : descs.outputs) out.push_back(d.dims), out_types.push_back(d.type);
  const std::unique_ptr<bool[]> none(new bool[std::max(in.size(), out.size()) + 1]());
  plugin.configurePlugin(in.data(), descs.num_inputs(), out.data(), descs.num_outputs(), in_types.data(),
                         out_types.data(), none.get(), none.get(), TensorFormat::kLINEAR, 1);
}

class ContextV2 final : public PluginContext {
 public:
  ContextV2(OwnedV2 plugin, const PluginServices* services)
      : plugin_(std::move(plugin)), dynamic_(as_dynamic(*plugin_)), services_(services) {
    const LoggerScope scope(logger_of(services));
    ext().attachToContext(nullptr, nullptr, services == nullptr ? nullptr : services->allocator);
  }
  ~ContextV2() override { ext().detachFromContext(); }
  ContextV2(const ContextV2&) = delete;
  ContextV2& operator=(const ContextV2&) = delete;

  Status prepare(const PluginTensors& tensors) override {
    const LoggerScope scope(logger_of(services_));
    // Of the others the extents never change: they were given while building.
    return dynamic_ == nullptr ? Status() : configure_v2(*plugin_, tensors);
  }

  Status run(const PluginTensors& tensors, const void* const* inputs, void* const* outputs, void* workspace,
             Stream* stream) override {
    const LoggerScope scope(logger_of(services_));
    const cudaStream_t native = stream_for_plugin(stream, services_);
    const PluginDescs descs(tensors);
    const int32_t code = dynamic_ == nullptr ? plugin_->enqueue(1, inputs, outputs, workspace, native)
                                             : dynamic_->enqueue(descs.inputs.data(), descs.outputs.data(), inputs,
                                                                 outputs, workspace, native);
    settle_plugin(stream, native);
    return answer(dynamic_ == nullptr ? "IPluginV2::enqueue" : "IPluginV2DynamicExt::enqueue", code);
  }

 private:
  IPluginV2Ext& ext() { return static_cast<IPluginV2Ext&>(*plugin_); }
  OwnedV2 plugin_;
  IPluginV2DynamicExt* dynamic_;
  const PluginServices* services_;
};

class ObjectV2 final : public PluginObject {
 public:
  explicit ObjectV2(OwnedV2 plugin) : plugin_(std::move(plugin)) {}
  ~ObjectV2() override {
    if (initialized_) plugin_->terminate();
  }
  Status initialize() {
    WOOTZ_RETURN_IF_ERROR(answer("IPluginV2::initialize", plugin_->initialize()));
    initialized_ = true;
    return Status();
  }
  Result<std::unique_ptr<PluginContext>> attach(const ContextServices* services) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    OwnedV2 clone(plugin_->clone());
    if (clone == nullptr) return make_error(Code::kInvalidState, "IPluginV2::clone gave no plugin");
    return std::unique_ptr<PluginContext>(
        std::make_unique<ContextV2>(std::move(clone), dynamic_cast<const PluginServices*>(services)));
  }
  Result<size_t> workspace(const PluginTensors& tensors) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return workspace_v2(*plugin_, tensors);
  }
  Result<std::string> serialize() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::string bytes(plugin_->getSerializationSize(), '\0');
    plugin_->serialize(bytes.data());
    return bytes;
  }

 private:
  std::mutex mutex_;
  OwnedV2 plugin_;
  bool initialized_ = false;
};

}  // namespace

Result<PluginVersion> version_of(const IPluginV2& plugin) {
  constexpr int32_t kLanguages = 64;  // added by bindings
  const int32_t number = static_cast<int32_t>(static_cast<uint32_t>(plugin.getTensorRTVersion()) >> 24U) % kLanguages;
  const auto version = static_cast<PluginVersion>(number);
  if (version == PluginVersion::kV2)
    return unsupported("plugins that derive from IPluginV2 alone cannot be run: derive from IPluginV2DynamicExt");
  if (number > static_cast<int32_t>(PluginVersion::kV2_DYNAMICEXT))
    return unsupported("plugins of class number {} are not known here", number);
  return version;
}

Status configure_v2(IPluginV2& plugin, const PluginTensors& tensors) {
  WOOTZ_ASSIGN_OR_RETURN(const PluginVersion version, version_of(plugin));
  if (version == PluginVersion::kV2_DYNAMICEXT) {
    const DynamicPluginDescs descs(tensors);
    static_cast<IPluginV2DynamicExt&>(plugin).configurePlugin(descs.inputs.data(), descs.num_inputs(),
                                                              descs.outputs.data(), descs.num_outputs());
    return Status();
  }
  const PluginDescs descs(tensors);
  if (version == PluginVersion::kV2_IOEXT)
    static_cast<IPluginV2IOExt&>(plugin).configurePlugin(descs.inputs.data(), descs.num_inputs(), descs.outputs.data(),
                                                         descs.num_outputs());
  else
    configure_ext(static_cast<IPluginV2Ext&>(plugin), descs);
  return Status();
}

Result<size_t> workspace_v2(const IPluginV2& plugin, const PluginTensors& tensors) {
  const IPluginV2DynamicExt* const dynamic = as_dynamic(plugin);
  if (dynamic == nullptr) return plugin.getWorkspaceSize(1);
  PluginDescs descs(tensors);
  // While building, for the most of the profiles.
  for (size_t i = 0; i < tensors.inputs.size(); ++i)
    if (!tensors.inputs[i].most.empty()) descs.inputs[i].dims = to_api(tensors.inputs[i].most);
  for (size_t o = 0; o < tensors.outputs.size(); ++o)
    if (!tensors.outputs[o].most.empty()) descs.outputs[o].dims = to_api(tensors.outputs[o].most);
  return dynamic->getWorkspaceSize(descs.inputs.data(), descs.num_inputs(), descs.outputs.data(), descs.num_outputs());
}

Result<std::shared_ptr<PluginObject>> make_object_v2(OwnedV2 plugin) {
  WOOTZ_RETURN_IF_ERROR(version_of(*plugin).status());
  auto object = std::make_shared<ObjectV2>(std::move(plugin));
  WOOTZ_RETURN_IF_ERROR(object->initialize());
  return std::shared_ptr<PluginObject>(std::move(object));
}

}  // namespace wootz::api
