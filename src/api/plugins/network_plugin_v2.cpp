// V2 plugins in networks.
#include "api/plugins/expressions.h"
#include "api/plugins/network_plugin.h"
#include "api/runtime/convert.h"
#include "api/runtime/plugins/describe.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: calls that interface, line by line

namespace {

class NetworkPluginV2 final : public NetworkPlugin {
 public:
  NetworkPluginV2(OwnedV2 plugin, PluginVersion version) : plugin_(std::move(plugin)), version_(version) {}

  IPluginV2* plugin() const { return plugin_.get(); }

  Identity identity() const override {
    return {text_of(plugin_->getPluginType()), text_of(plugin_->getPluginVersion()),
            text_of(plugin_->getPluginNamespace()), ""};
  }
  int num_outputs() const override { return plugin_->getNbOutputs(); }
  int aliased_input(int) const override { return -1; }
  Result<CustomResults> results(const std::vector<TypeInfo>& operands,
                                const std::vector<std::vector<Dim>>& shape_operands) const override;
  bool supports(const PluginTensors& tensors, size_t pos) override;
  int most_forms() override {
    return version_ == PluginVersion::kV2_EXT ? 1 : IPluginV2DynamicExt::kFORMAT_COMBINATION_LIMIT;
  }
  Result<std::unique_ptr<NetworkPlugin>> clone() override {
    OwnedV2 made(plugin_->clone());
    if (made == nullptr) return make_error(Code::kInvalidState, "IPluginV2::clone gave no plugin");
    return std::unique_ptr<NetworkPlugin>(std::make_unique<NetworkPluginV2>(std::move(made), version_));
  }
  Status configure(const PluginTensors& tensors) override { return configure_v2(*plugin_, tensors); }
  Result<size_t> workspace(const PluginTensors& tensors) override { return workspace_v2(*plugin_, tensors); }
  Result<std::shared_ptr<PluginObject>> release(int32_t, size_t) override { return make_object_v2(std::move(plugin_)); }

 private:
  Result<Shape> shape_by_expressions(int output, std::vector<DimsExprs>* in, ExprBuilder* builder) const;
  Result<Shape> shape_by_extents(int output, const std::vector<TypeInfo>& operands) const;

  OwnedV2 plugin_;
  PluginVersion version_;
};

Result<Shape> NetworkPluginV2::shape_by_expressions(int output, std::vector<DimsExprs>* in,
                                                    ExprBuilder* builder) const {
  const DimsExprs exprs = static_cast<IPluginV2DynamicExt&>(*plugin_).getOutputDimensions(
      output, in->data(), static_cast<int32_t>(in->size()), *builder);
  WOOTZ_RETURN_IF_ERROR(builder->refused());
  return builder->shape_of(exprs);
}

// These classes know no ranges.
Result<Shape> NetworkPluginV2::shape_by_extents(int output, const std::vector<TypeInfo>& operands) const {
  std::vector<nvinfer1::Dims> in;
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::optional<wootz::Dims> dims = to_dims(operands[i].shape);
    if (!dims)
      return unsupported(
          "input {} has extents that are open until run time, for which a plugin must derive from IPluginV2DynamicExt",
          i);
    in.push_back(to_api(*dims));
  }
  const nvinfer1::Dims given = plugin_->getOutputDimensions(output, in.data(), static_cast<int32_t>(in.size()));
  WOOTZ_ASSIGN_OR_RETURN(const wootz::Dims dims, from_api(given, 0));
  return to_shape(dims);
}

Result<CustomResults> NetworkPluginV2::results(const std::vector<TypeInfo>& operands,
                                               const std::vector<std::vector<Dim>>&) const {
  ExprBuilder builder;
  std::vector<DimsExprs> in;
  std::vector<DataType> types;
  for (const TypeInfo& info : operands) {
    WOOTZ_ASSIGN_OR_RETURN(in.emplace_back(), builder.exprs(info.shape));
    types.push_back(info.present ? to_api(info.dtype) : DataType::kFLOAT);
  }
  CustomResults results;
  for (int o = 0; o < num_outputs(); ++o) {
    const DataType type =
        static_cast<IPluginV2Ext&>(*plugin_).getOutputDataType(o, types.data(), static_cast<int32_t>(types.size()));
    results.types.push_back(from_api(type));
    if (results.types.back() == DType::kInvalid)
      return invalid_argument("IPluginV2Ext::getOutputDataType gave type {} for output {}", static_cast<int>(type), o);
    Result<Shape> shape = version_ == PluginVersion::kV2_DYNAMICEXT ? shape_by_expressions(o, &in, &builder)
                                                                    : shape_by_extents(o, operands);
    if (!shape.ok()) return shape.status().with_prefix(fmt::format("getOutputDimensions for output {}", o));
    results.shapes.push_back(std::move(shape).value());
  }
  results.sizes = builder.sizes();
  return results;
}

bool NetworkPluginV2::supports(const PluginTensors& tensors, size_t pos) {
  const PluginDescs descs(tensors);
  std::vector<PluginTensorDesc> all = descs.inputs;
  all.insert(all.end(), descs.outputs.begin(), descs.outputs.end());
  const auto at = static_cast<int32_t>(pos);
  if (version_ == PluginVersion::kV2_DYNAMICEXT)
    return static_cast<IPluginV2DynamicExt&>(*plugin_).supportsFormatCombination(at, all.data(), descs.num_inputs(),
                                                                                 descs.num_outputs());
  if (version_ == PluginVersion::kV2_IOEXT)
    return static_cast<IPluginV2IOExt&>(*plugin_).supportsFormatCombination(at, all.data(), descs.num_inputs(),
                                                                            descs.num_outputs());
  // The oldest class is asked for what it computes in; integers are handed over as they are.
  const DType type =
      pos < tensors.inputs.size() ? tensors.inputs[pos].dtype : tensors.outputs[pos - tensors.inputs.size()].dtype;
  return all[pos].format == TensorFormat::kLINEAR &&
         ((!is_float(type) && type != DType::kI8) || plugin_->supportsFormat(all[pos].type, TensorFormat::kLINEAR));
}

}  // namespace

Result<std::shared_ptr<NetworkPlugin>> adopt_plugin_v2(OwnedV2 plugin) {
  if (plugin == nullptr) return make_error(Code::kInvalidState, "IPluginV2::clone gave no plugin");
  WOOTZ_ASSIGN_OR_RETURN(const PluginVersion version, version_of(*plugin));
  if (text_of(plugin->getPluginType()).empty()) return invalid_argument("a plugin without a name");
  const int32_t outputs = plugin->getNbOutputs();
  if (outputs < 1 || outputs > limits::kMaxInputsPerNode)
    return invalid_argument("IPluginV2::getNbOutputs answered {}", outputs);
  return std::shared_ptr<NetworkPlugin>(std::make_shared<NetworkPluginV2>(std::move(plugin), version));
}

IPluginV2* plugin_v2_of(const CustomOp* op) {
  const auto* plugin = dynamic_cast<const NetworkPluginV2*>(op);
  return plugin == nullptr ? nullptr : plugin->plugin();
}

}  // namespace wootz::api
