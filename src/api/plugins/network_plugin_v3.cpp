// V3 plugins in networks.
#include "api/plugins/ask_build.h"
#include "api/plugins/network_plugin.h"
#include "api/runtime/plugins/object_quick.h"
#include "api/runtime/plugins/object_v3.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: calls that interface, line by line

namespace {

constexpr const char* kBuild = "IPluginV3OneBuild";

class NetworkPluginV3 final : public NetworkPlugin {
 public:
  NetworkPluginV3(std::unique_ptr<IPluginV3> plugin, IPluginV3OneCore* core, IPluginV3OneBuild* build)
      : plugin_(std::move(plugin)), core_(core), build_(build) {}

  IPluginV3* plugin() const { return plugin_.get(); }

  Identity identity() const override {
    return {text_of(core_->getPluginName()), text_of(core_->getPluginVersion()), text_of(core_->getPluginNamespace()),
            text_of(build_->getTimingCacheID())};
  }
  int num_outputs() const override { return build_->getNbOutputs(); }
  int aliased_input(int output) const override {
    IPluginV3OneBuildV2* const second = second_build(build_);
    return second == nullptr ? -1 : second->getAliasedInput(output);
  }
  Result<CustomResults> results(const std::vector<TypeInfo>& operands,
                                const std::vector<std::vector<Dim>>& shape_operands) const override;

  bool supports(const PluginTensors& tensors, size_t pos) override {
    const DynamicPluginDescs descs(tensors);
    std::vector<DynamicPluginTensorDesc> all = descs.inputs;
    all.insert(all.end(), descs.outputs.begin(), descs.outputs.end());
    return build_->supportsFormatCombination(static_cast<int32_t>(pos), all.data(), descs.num_inputs(),
                                             descs.num_outputs());
  }
  int most_forms() override { return build_->getFormatCombinationLimit(); }
  Result<std::unique_ptr<NetworkPlugin>> clone() override;
  Status configure(const PluginTensors& tensors) override {
    const DynamicPluginDescs descs(tensors);
    return answer(
        "IPluginV3OneBuild::configurePlugin",
        build_->configurePlugin(descs.inputs.data(), descs.num_inputs(), descs.outputs.data(), descs.num_outputs()));
  }
  Result<std::vector<int32_t>> tactics() override { return ask_tactics(*build_, kBuild); }
  Result<size_t> workspace(const PluginTensors& tensors) override {
    const DynamicPluginDescs descs(tensors);
    return build_->getWorkspaceSize(descs.inputs.data(), descs.num_inputs(), descs.outputs.data(), descs.num_outputs());
  }
  std::string metadata() override { return text_of(build_->getMetadataString()); }
  Result<std::shared_ptr<PluginObject>> release(int32_t tactic, size_t workspace) override {
    return make_object_v3(std::move(plugin_), tactic, workspace);
  }

 private:
  std::unique_ptr<IPluginV3> plugin_;
  IPluginV3OneCore* core_;
  IPluginV3OneBuild* build_;
};

Result<std::unique_ptr<NetworkPluginV3>> adopt(std::unique_ptr<IPluginV3> plugin) {
  if (plugin == nullptr) return make_error(Code::kInvalidState, "IPluginV3::clone gave no plugin");
  WOOTZ_ASSIGN_OR_RETURN(IPluginV3OneCore* const core, core_of(*plugin));
  WOOTZ_ASSIGN_OR_RETURN(IPluginV3OneBuild* const build, build_of(*plugin));
  WOOTZ_RETURN_IF_ERROR(runtime_of(*plugin).status());
  WOOTZ_RETURN_IF_ERROR(check_identity(*core, *build, kBuild));
  return std::make_unique<NetworkPluginV3>(std::move(plugin), core, build);
}

Result<CustomResults> NetworkPluginV3::results(const std::vector<TypeInfo>& operands,
                                               const std::vector<std::vector<Dim>>& shape_operands) const {
  return ask_results(*build_, kBuild, operands, shape_operands, [&](const OutputTypes& types) {
    return build_->getOutputDataTypes(types.out, types.outputs, types.in, types.inputs);
  });
}

Result<std::unique_ptr<NetworkPlugin>> NetworkPluginV3::clone() {
  WOOTZ_ASSIGN_OR_RETURN(std::unique_ptr<NetworkPluginV3> made, adopt(std::unique_ptr<IPluginV3>(plugin_->clone())));
  return std::unique_ptr<NetworkPlugin>(std::move(made));
}

}  // namespace

Result<std::shared_ptr<NetworkPlugin>> adopt_plugin_v3(std::unique_ptr<IPluginV3> plugin) {
  if (plugin != nullptr && is_quick(*plugin)) return adopt_plugin_quick(std::move(plugin));
  WOOTZ_ASSIGN_OR_RETURN(std::unique_ptr<NetworkPluginV3> made, adopt(std::move(plugin)));
  return std::shared_ptr<NetworkPlugin>(std::move(made));
}

IPluginV3* plugin_v3_of(const CustomOp* op) {
  const auto* plugin = dynamic_cast<const NetworkPluginV3*>(op);
  return plugin == nullptr ? plugin_quick_of(op) : plugin->plugin();
}

}  // namespace wootz::api
