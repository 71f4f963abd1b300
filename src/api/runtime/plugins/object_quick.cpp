#include "api/runtime/plugins/object_quick.h"

#include <mutex>

#include "api/runtime/convert.h"
#include "api/runtime/plugins/capability.h"
#include "api/runtime/plugins/logger_finder.h"
#include "api/runtime/plugins/services.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: calls that interface, line by line

namespace {

std::vector<nvinfer1::Dims> strides_of(const std::vector<PluginTensor>& tensors) {
  std::vector<nvinfer1::Dims> strides;
  for (const PluginTensor& t : tensors) strides.push_back(to_api(layout_strides(t.layout, t.dims)));
  return strides;
}

class ContextQuick final : public PluginContext {
 public:
  ContextQuick(std::unique_ptr<IPluginV3> plugin, IPluginV3QuickRuntime* runtime, const PluginServices* services)
      : plugin_(std::move(plugin)), runtime_(runtime), services_(services) {}

  Status prepare(const PluginTensors& tensors) override {
    in_strides_ = strides_of(tensors.inputs);
    out_strides_ = strides_of(tensors.outputs);
    return Status();
  }

  Status run(const PluginTensors& tensors, const void* const* inputs, void* const* outputs, void*,
             Stream* stream) override {
    const LoggerScope scope(logger_of(services_));
    const PluginDescs descs(tensors);
    const cudaStream_t native = stream_for_plugin(stream, services_);
    const int32_t code =
        runtime_->enqueue(descs.inputs.data(), descs.outputs.data(), inputs, outputs, in_strides_.data(),
                          out_strides_.data(), descs.num_inputs(), descs.num_outputs(), native);
    settle_plugin(stream, native);
    return answer("IPluginV3QuickRuntime::enqueue", code);
  }

 private:
  std::unique_ptr<IPluginV3> plugin_;
  IPluginV3QuickRuntime* runtime_;
  const PluginServices* services_;
  std::vector<nvinfer1::Dims> in_strides_, out_strides_;
};

class ObjectQuick final : public PluginObject {
 public:
  ObjectQuick(std::unique_ptr<IPluginV3> plugin, IPluginV3QuickRuntime* runtime, int32_t tactic)
      : plugin_(std::move(plugin)), runtime_(runtime), tactic_(tactic) {}

  Result<std::unique_ptr<PluginContext>> attach(const ContextServices* services) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::unique_ptr<IPluginV3> mine(plugin_->clone());
    if (mine == nullptr) return make_error(Code::kInvalidState, "IPluginV3::clone gave no plugin");
    WOOTZ_ASSIGN_OR_RETURN(IPluginV3QuickRuntime* const runtime, quick_runtime_of(*mine));
    WOOTZ_RETURN_IF_ERROR(answer("IPluginV3QuickRuntime::setTactic", runtime->setTactic(tactic_)));
    return std::unique_ptr<PluginContext>(
        std::make_unique<ContextQuick>(std::move(mine), runtime, dynamic_cast<const PluginServices*>(services)));
  }
  Result<size_t> workspace(const PluginTensors&) override { return size_t{0}; }
  Result<std::string> serialize() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    const PluginFieldCollection* const fields = runtime_->getFieldsToSerialize();
    if (fields == nullptr)
      return make_error(Code::kInvalidState, "IPluginV3QuickRuntime::getFieldsToSerialize gave nothing");
    return write_fields(*fields);
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<IPluginV3> plugin_;
  IPluginV3QuickRuntime* runtime_;
  const int32_t tactic_;
};

}  // namespace

bool is_quick(IPluginV3& plugin) { return has_kind(plugin, PluginCapabilityType::kCORE, "PLUGIN_V3QUICK_CORE"); }

Result<IPluginV3QuickRuntime*> quick_runtime_of(IPluginV3& plugin) {
  return capability<IPluginV3QuickRuntime>(plugin, PluginCapabilityType::kRUNTIME, "PLUGIN_V3QUICK_RUNTIME");
}

Result<std::shared_ptr<PluginObject>> make_object_quick(std::unique_ptr<IPluginV3> plugin, int32_t tactic) {
  WOOTZ_ASSIGN_OR_RETURN(IPluginV3QuickRuntime* const runtime, quick_runtime_of(*plugin));
  WOOTZ_RETURN_IF_ERROR(answer("IPluginV3QuickRuntime::setTactic", runtime->setTactic(tactic)));
  return std::shared_ptr<PluginObject>(std::make_shared<ObjectQuick>(std::move(plugin), runtime, tactic));
}

}  // namespace wootz::api
