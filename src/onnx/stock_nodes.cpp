// Nodes that are plugins of TensorRT's own: they become our ops, whether or not the application knows of them.
#include "onnx/import_table.h"
#include "onnx/node_context.h"
#include "onnx/text.h"
#include "ops/support/compose.h"
#include "stock/plugin.h"

namespace wootz::importer {
namespace {

Result<stock::FieldValue> value_of(const OnnxAttribute& attribute) {
  if (const auto* ints = std::get_if<std::vector<int64_t>>(&attribute.value))
    return stock::FieldValue(
        HostTensor::from<int64_t>(std::span<const int64_t>(*ints), Dims{static_cast<int64_t>(ints->size())}));
  if (const auto* floats = std::get_if<std::vector<float>>(&attribute.value))
    return stock::FieldValue(
        HostTensor::from<float>(std::span<const float>(*floats), Dims{static_cast<int64_t>(floats->size())}));
  if (const auto* tensor = std::get_if<HostTensor>(&attribute.value)) return stock::FieldValue(*tensor);
  const auto& texts = std::get<std::vector<std::string>>(attribute.value);
  if (texts.size() != 1) return invalid_argument("attribute '{}' has {} texts", attribute.name, texts.size());
  return stock::FieldValue(texts[0]);
}

// Only what the plugin has as fields: other attributes may be of any type.
Result<stock::Fields> fields_of(const stock::Plugin& plugin, const PluginRequest& request) {
  stock::Fields given;
  for (const stock::Field& field : plugin.fields)
    if (const OnnxAttribute* attribute = request.find(field.name)) {
      WOOTZ_ASSIGN_OR_RETURN(stock::FieldValue value, value_of(*attribute));
      given.set(field.name, std::move(value));
    }
  return stock::completed(plugin.fields, given);
}

Result<const stock::Plugin*> plugin_of(const PluginRequest& request, const std::string& versions) {
  if (const stock::Plugin* found = stock::find_plugin(request.name, request.version)) return found;
  // Without an attribute, the first that there is.
  if (request.find("plugin_version") == nullptr)
    if (const stock::Plugin* first = stock::find_plugin(request.name, versions.substr(0, versions.find(','))))
      return first;
  return unsupported("plugin '{}' has no version '{}'; there are {}", request.name, printable(request.version),
                     versions);
}

Status write(const stock::Plugin& plugin, const PluginRequest& request, NodeContext& context) {
  Result<stock::Fields> fields = fields_of(plugin, request);
  if (!fields.ok())
    return fields.status().with_prefix(fmt::format("plugin '{}' version '{}'", plugin.name, plugin.version));
  if (context.num_outputs() > stock::num_outputs(plugin, *fields))
    return invalid_argument("it has {} outputs, its plugin {}", context.num_outputs(),
                            stock::num_outputs(plugin, *fields));
  std::vector<Value*> inputs;
  for (int i = 0; i < context.num_inputs(); ++i) inputs.push_back(context.input(i));
  Composer composer(context);
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<Value*> outputs,
                         stock::expand(plugin, composer, std::move(inputs), *fields));
  for (int i = 0; i < context.num_outputs(); ++i)
    if (context.wants_output(i)) context.set_output(i, outputs[static_cast<size_t>(i)]);
  return Status();
}

}  // namespace

// False: the node is none of them.
bool Importer::import_stock(const Place& place, Scope& scope, const Frame& frame, const std::vector<Slot>& inputs) {
  const std::string versions = stock::versions_of(place.node.op_type());
  if (versions.empty() || !find_imports(place.domain, place.node.op_type()).empty()) return false;
  return import_found(place, scope, frame, inputs, [&](const PluginRequest& request) -> Result<PluginWriter> {
    WOOTZ_ASSIGN_OR_RETURN(const stock::Plugin* const plugin, plugin_of(request, versions));
    return PluginWriter{[&request, plugin](NodeContext& context) { return write(*plugin, request, context); }, true};
  });
}

}  // namespace wootz::importer
