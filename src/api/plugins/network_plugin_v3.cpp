// V3 plugins in networks.
#include <algorithm>

#include "api/plugins/expressions.h"
#include "api/plugins/network_plugin.h"
#include "api/runtime/convert.h"
#include "api/runtime/plugins/describe.h"
#include "api/runtime/plugins/object_v3.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: calls that interface, line by line

namespace {

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
  Result<std::vector<int32_t>> tactics() override;
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
  constexpr size_t kMostNameBytes = 1024;
  if (plugin == nullptr) return make_error(Code::kInvalidState, "IPluginV3::clone gave no plugin");
  WOOTZ_ASSIGN_OR_RETURN(IPluginV3OneCore* const core, core_of(*plugin));
  WOOTZ_ASSIGN_OR_RETURN(IPluginV3OneBuild* const build, build_of(*plugin));
  WOOTZ_RETURN_IF_ERROR(runtime_of(*plugin).status());
  for (const AsciiChar* name : {core->getPluginName(), core->getPluginVersion(), core->getPluginNamespace()})
    if (text_of(name).size() >= kMostNameBytes)
      return invalid_argument("a name, version or namespace of {} bytes; the limit is {}", text_of(name).size(),
                              kMostNameBytes);
  if (text_of(core->getPluginName()).empty()) return invalid_argument("a plugin without a name");
  const int32_t outputs = build->getNbOutputs();
  if (outputs < 1 || outputs > limits::kMaxInputsPerNode)
    return invalid_argument("IPluginV3OneBuild::getNbOutputs answered {}", outputs);
  return std::make_unique<NetworkPluginV3>(std::move(plugin), core, build);
}

Result<CustomResults> NetworkPluginV3::results(const std::vector<TypeInfo>& operands,
                                               const std::vector<std::vector<Dim>>& shape_operands) const {
  ExprBuilder builder;
  std::vector<DimsExprs> in, values, out(static_cast<size_t>(num_outputs()));
  std::vector<DataType> in_types, out_types(out.size(), DataType::kFLOAT);
  for (const TypeInfo& info : operands) {
    WOOTZ_ASSIGN_OR_RETURN(in.emplace_back(), builder.exprs(info.shape));
    in_types.push_back(info.present ? to_api(info.dtype) : DataType::kFLOAT);
  }
  for (const std::vector<Dim>& list : shape_operands) {
    WOOTZ_ASSIGN_OR_RETURN(values.emplace_back(), builder.exprs(list));
  }
  const auto count = [](const auto& list) { return static_cast<int32_t>(list.size()); };
  WOOTZ_RETURN_IF_ERROR(
      answer("IPluginV3OneBuild::getOutputDataTypes",
             build_->getOutputDataTypes(out_types.data(), count(out), in_types.data(), count(in_types))));
  for (DimsExprs& exprs : out) exprs.nbDims = -1;
  const int32_t code =
      build_->getOutputShapes(in.data(), count(in), values.data(), count(values), out.data(), count(out), builder);
  WOOTZ_RETURN_IF_ERROR(builder.refused());
  WOOTZ_RETURN_IF_ERROR(answer("IPluginV3OneBuild::getOutputShapes", code));
  CustomResults results;
  for (size_t o = 0; o < out.size(); ++o) {
    Result<Shape> shape = builder.shape_of(out[o]);
    if (!shape.ok())
      return shape.status().with_prefix(fmt::format("IPluginV3OneBuild::getOutputShapes gave for output {}", o));
    results.shapes.push_back(std::move(shape).value());
    results.types.push_back(from_api(out_types[o]));
    if (results.types.back() == DType::kInvalid)
      return invalid_argument("IPluginV3OneBuild::getOutputDataTypes gave type {} for output {}",
                              static_cast<int>(out_types[o]), o);
  }
  results.sizes = builder.sizes();
  return results;
}

Result<std::unique_ptr<NetworkPlugin>> NetworkPluginV3::clone() {
  WOOTZ_ASSIGN_OR_RETURN(std::unique_ptr<NetworkPluginV3> made, adopt(std::unique_ptr<IPluginV3>(plugin_->clone())));
  return std::unique_ptr<NetworkPlugin>(std::move(made));
}

Result<std::vector<int32_t>> NetworkPluginV3::tactics() {
  constexpr int32_t kMost = 10'000;
  const int32_t count = build_->getNbTactics();
  if (count < 0 || count > kMost) return invalid_argument("IPluginV3OneBuild::getNbTactics answered {}", count);
  if (count == 0) return std::vector<int32_t>{0};
  std::vector<int32_t> tactics(static_cast<size_t>(count), 0);
  WOOTZ_RETURN_IF_ERROR(answer("IPluginV3OneBuild::getValidTactics", build_->getValidTactics(tactics.data(), count)));
  std::vector<int32_t> seen;
  for (const int32_t t : tactics) {
    if (t <= 0) return invalid_argument("IPluginV3OneBuild::getValidTactics gave tactic {}; they are positive", t);
    if (std::find(seen.begin(), seen.end(), t) != seen.end())
      return invalid_argument("IPluginV3OneBuild::getValidTactics gave tactic {} twice", t);
    seen.push_back(t);
  }
  return tactics;
}

}  // namespace

Result<std::shared_ptr<NetworkPlugin>> adopt_plugin_v3(std::unique_ptr<IPluginV3> plugin) {
  WOOTZ_ASSIGN_OR_RETURN(std::unique_ptr<NetworkPluginV3> made, adopt(std::move(plugin)));
  return std::shared_ptr<NetworkPlugin>(std::move(made));
}

IPluginV3* plugin_v3_of(const CustomOp* op) {
  const auto* plugin = dynamic_cast<const NetworkPluginV3*>(op);
  return plugin == nullptr ? nullptr : plugin->plugin();
}

}  // namespace wootz::api
