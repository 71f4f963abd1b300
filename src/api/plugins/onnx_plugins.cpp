#include "api/plugins/onnx_plugins.h"

#include <cstring>

#include "api/plugins/network_plugin.h"
#include "api/plugins/stock.h"
#include "api/plugins/stock_fields.h"
#include "api/runtime/plugins/describe.h"
#include "api/runtime/plugins/loader.h"
#include "api/runtime/plugins/logger_finder.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: calls that interface, line by line

namespace {

// The attribute's numbers as a tensor of that type.
Result<HostTensor> numbers_of(const OnnxAttribute& attribute, DType type) {
  const auto make = [&](const auto& list) -> Result<HostTensor> {
    WOOTZ_ASSIGN_OR_RETURN(HostTensor made, HostTensor::allocate(type, wootz::Dims{static_cast<int64_t>(list.size())}));
    for (size_t i = 0; i < list.size(); ++i) {
      if (is_float(type))
        made.set_f64(static_cast<int64_t>(i), static_cast<double>(list[i]));
      else
        made.set_i64(static_cast<int64_t>(i), static_cast<int64_t>(list[i]));
    }
    return made;
  };
  if (const auto* ints = std::get_if<std::vector<int64_t>>(&attribute.value)) return make(*ints);
  if (const auto* floats = std::get_if<std::vector<float>>(&attribute.value); floats != nullptr && is_float(type))
    return make(*floats);
  const auto* tensor = std::get_if<HostTensor>(&attribute.value);
  if (tensor != nullptr && tensor->dtype() == type) return *tensor;
  return invalid_argument("attribute '{}' holds no {} values, which the plugin's field takes", attribute.name,
                          dtype_name(type));
}

Status add_dims(const OnnxAttribute& attribute, OwnedFields* fields) {
  const auto* ints = std::get_if<std::vector<int64_t>>(&attribute.value);
  if (ints == nullptr || ints->size() > static_cast<size_t>(nvinfer1::Dims::MAX_DIMS))
    return invalid_argument("attribute '{}' is no list of at most {} extents", attribute.name,
                            static_cast<int32_t>(nvinfer1::Dims::MAX_DIMS));
  nvinfer1::Dims dims{};
  for (const int64_t d : *ints) dims.d[dims.nbDims++] = d;
  fields->add(attribute.name, PluginFieldType::kDIMS, 1, &dims, sizeof dims);
  return Status();
}

// One field that the creator lists, from the attribute of its name.
Status add_field(const PluginField& listed, const OnnxAttribute& attribute, OwnedFields* fields) {
  if (const DType type = number_type(listed.type); type != DType::kInvalid) {
    WOOTZ_ASSIGN_OR_RETURN(const HostTensor numbers, numbers_of(attribute, type));
    fields->add(attribute.name, listed.type, static_cast<int32_t>(numbers.volume()), numbers.data(), numbers.bytes());
    return Status();
  }
  if (listed.type == PluginFieldType::kDIMS) return add_dims(attribute, fields);
  std::string bytes;
  if (const auto* texts = std::get_if<std::vector<std::string>>(&attribute.value);
      texts != nullptr && texts->size() == 1)
    bytes = (*texts)[0];
  else if (const auto* tensor = std::get_if<HostTensor>(&attribute.value))
    bytes.assign(static_cast<const char*>(tensor->data()), tensor->bytes());
  else
    return invalid_argument("attribute '{}' is neither a text nor a tensor, which the plugin's field takes",
                            attribute.name);
  const auto length = static_cast<int32_t>(bytes.size());
  // With an end, for those who read a C string.
  bytes.push_back('\0');
  fields->add(attribute.name, listed.type, length, bytes.data(), bytes.size());
  return Status();
}

Result<OwnedFields> fields_for(const PluginFieldCollection* listed, const PluginRequest& request) {
  OwnedFields fields;
  for (int32_t i = 0; listed != nullptr && listed->fields != nullptr && i < listed->nbFields; ++i) {
    const OnnxAttribute* const attribute = request.find(text_of(listed->fields[i].name));
    if (attribute != nullptr) WOOTZ_RETURN_IF_ERROR(add_field(listed->fields[i], *attribute, &fields));
  }
  return fields;
}

Result<std::unique_ptr<IPluginV3>> create_v3(IPluginCreatorInterface* creator, const PluginRequest& request,
                                             QuickPluginCreationRequest form) {
  IPluginCreatorV3One* const v3 = as_creator_v3(creator);
  IPluginCreatorV3Quick* const quick = as_creator_quick(creator);
  WOOTZ_ASSIGN_OR_RETURN(OwnedFields fields,
                         fields_for(v3 != nullptr ? v3->getFieldNames() : quick->getFieldNames(), request));
  const AsciiChar* const node = request.node.c_str();
  std::unique_ptr<IPluginV3> plugin(
      v3 != nullptr
          ? v3->createPlugin(node, &fields.collection(), TensorRTPhase::kBUILD)
          : quick->createPlugin(node, request.space.c_str(), &fields.collection(), TensorRTPhase::kBUILD, form));
  if (plugin == nullptr)
    return make_error(Code::kInvalidState, "{}::createPlugin gave no plugin",
                      v3 != nullptr ? "IPluginCreatorV3One" : "IPluginCreatorV3Quick");
  return plugin;
}

Result<std::shared_ptr<const CustomOp>> make_plugin(PluginRegistry& registry, const PluginRequest& request,
                                                    QuickPluginCreationRequest form) {
  IPluginCreatorInterface* const creator =
      registry.getCreator(request.name.c_str(), request.version.c_str(), request.space.c_str());
  // The importer writes TensorRT's own plugins itself.
  if (creator == nullptr || is_stock(creator)) return std::shared_ptr<const CustomOp>();
  if (IPluginCreator* const v2 = as_creator_v2(creator)) {
    WOOTZ_ASSIGN_OR_RETURN(OwnedFields fields, fields_for(v2->getFieldNames(), request));
    OwnedV2 plugin(v2->createPlugin(request.node.c_str(), &fields.collection()));
    if (plugin == nullptr) return make_error(Code::kInvalidState, "IPluginCreator::createPlugin gave no plugin");
    plugin->setPluginNamespace(request.space.c_str());
    WOOTZ_ASSIGN_OR_RETURN(const std::shared_ptr<NetworkPlugin> adopted, adopt_plugin_v2(std::move(plugin)));
    return std::shared_ptr<const CustomOp>(adopted);
  }
  WOOTZ_ASSIGN_OR_RETURN(std::unique_ptr<IPluginV3> plugin, create_v3(creator, request, form));
  WOOTZ_ASSIGN_OR_RETURN(const std::shared_ptr<NetworkPlugin> adopted, adopt_plugin_v3(std::move(plugin)));
  return std::shared_ptr<const CustomOp>(adopted);
}

}  // namespace

PluginFunction plugins_from(PluginRegistry& registry, QuickPluginCreationRequest form) {
  return [&registry, form](const PluginRequest& request) -> Result<std::shared_ptr<const CustomOp>> {
    const LoggerScope scope(registry.logger());
    Result<std::shared_ptr<const CustomOp>> made = make_plugin(registry, request, form);
    if (made.ok()) return made;
    return made.status().with_prefix(
        fmt::format("plugin '{}' version '{}' (namespace '{}')", request.name, request.version, request.space));
  };
}

}  // namespace wootz::api
