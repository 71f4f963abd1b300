#include "api/runtime/plugins/object_v3.h"

#include <mutex>

#include "api/runtime/plugins/capability.h"
#include "api/runtime/plugins/describe.h"
#include "api/runtime/plugins/logger_finder.h"
#include "api/runtime/plugins/services.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: calls that interface, line by line

namespace {

class ResourceContext final : public IPluginResourceContext {
 public:
  explicit ResourceContext(const PluginServices* services) : services_(services) {}
  IGpuAllocator* getGpuAllocator() const noexcept override {
    return services_ == nullptr ? nullptr : services_->allocator;
  }
  IErrorRecorder* getErrorRecorder() const noexcept override {
    return services_ == nullptr ? nullptr : services_->recorder;
  }

 private:
  const PluginServices* services_;
};

class ContextV3 final : public PluginContext {
 public:
  explicit ContextV3(const PluginServices* services) : services_(services), resources_(services) {}

  Status attach(IPluginV3OneRuntime& engine, int32_t tactic) {
    const LoggerScope scope(logger_of(services_));
    plugin_.reset(engine.attachToContext(&resources_));
    if (plugin_ == nullptr)
      return make_error(Code::kInvalidState, "IPluginV3OneRuntime::attachToContext gave no plugin");
    WOOTZ_ASSIGN_OR_RETURN(runtime_, runtime_of(*plugin_));
    return answer("IPluginV3OneRuntime::setTactic", runtime_->setTactic(tactic));
  }

  Status prepare(const PluginTensors& tensors) override {
    const LoggerScope scope(logger_of(services_));
    const PluginDescs descs(tensors);
    return answer(
        "IPluginV3OneRuntime::onShapeChange",
        runtime_->onShapeChange(descs.inputs.data(), descs.num_inputs(), descs.outputs.data(), descs.num_outputs()));
  }

  Status run(const PluginTensors& tensors, const void* const* inputs, void* const* outputs, void* workspace,
             Stream* stream) override {
    const LoggerScope scope(logger_of(services_));
    const PluginDescs descs(tensors);
    const cudaStream_t native = stream_for_plugin(stream, services_);
    const int32_t code =
        runtime_->enqueue(descs.inputs.data(), descs.outputs.data(), inputs, outputs, workspace, native);
    settle_plugin(stream, native);
    return answer("IPluginV3OneRuntime::enqueue", code);
  }

 private:
  const PluginServices* services_;
  ResourceContext resources_;
  std::unique_ptr<IPluginV3> plugin_;
  IPluginV3OneRuntime* runtime_ = nullptr;
};

class ObjectV3 final : public PluginObject {
 public:
  ObjectV3(std::unique_ptr<IPluginV3> plugin, IPluginV3OneRuntime* runtime, int32_t tactic, size_t workspace)
      : plugin_(std::move(plugin)), runtime_(runtime), tactic_(tactic), workspace_(workspace) {}

  Result<std::unique_ptr<PluginContext>> attach(const ContextServices* services) override {
    auto context = std::make_unique<ContextV3>(dynamic_cast<const PluginServices*>(services));
    const std::lock_guard<std::mutex> lock(mutex_);
    WOOTZ_RETURN_IF_ERROR(context->attach(*runtime_, tactic_));
    return std::unique_ptr<PluginContext>(std::move(context));
  }
  Result<size_t> workspace(const PluginTensors&) override { return workspace_; }
  Result<std::string> serialize() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    const PluginFieldCollection* const fields = runtime_->getFieldsToSerialize();
    if (fields == nullptr)
      return make_error(Code::kInvalidState, "IPluginV3OneRuntime::getFieldsToSerialize gave nothing");
    return write_fields(*fields);
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<IPluginV3> plugin_;
  IPluginV3OneRuntime* runtime_;
  const int32_t tactic_;
  const size_t workspace_;
};

}  // namespace

Result<IPluginV3OneCore*> core_of(IPluginV3& plugin) {
  return capability<IPluginV3OneCore>(plugin, PluginCapabilityType::kCORE, "PLUGIN_V3ONE_CORE");
}
Result<IPluginV3OneBuild*> build_of(IPluginV3& plugin) {
  return capability<IPluginV3OneBuild>(plugin, PluginCapabilityType::kBUILD, "PLUGIN_V3ONE_BUILD");
}
Result<IPluginV3OneRuntime*> runtime_of(IPluginV3& plugin) {
  return capability<IPluginV3OneRuntime>(plugin, PluginCapabilityType::kRUNTIME, "PLUGIN_V3ONE_RUNTIME");
}

IPluginV3OneBuildV2* second_build(IPluginV3OneBuild* build) {
  return build->getInterfaceInfo().major >= 2 ? static_cast<IPluginV3OneBuildV2*>(build) : nullptr;
}

Result<std::shared_ptr<PluginObject>> make_object_v3(std::unique_ptr<IPluginV3> plugin, int32_t tactic,
                                                     size_t workspace) {
  WOOTZ_ASSIGN_OR_RETURN(IPluginV3OneRuntime* const runtime, runtime_of(*plugin));
  WOOTZ_RETURN_IF_ERROR(answer("IPluginV3OneRuntime::setTactic", runtime->setTactic(tactic)));
  return std::shared_ptr<PluginObject>(std::make_shared<ObjectV3>(std::move(plugin), runtime, tactic, workspace));
}

}  // namespace wootz::api
