// Nodes that are plugins of the application.
#include <algorithm>

#include "onnx/import_table.h"
#include "onnx/node_context.h"
#include "onnx/text.h"

namespace wootz::importer {
namespace {

// Which inputs are read for extents only, by their numbers.
constexpr const char* kShapeInputs = "tensorrt_plugin_shape_input_indices";

const ::onnx::AttributeProto* resolved(const ::onnx::AttributeProto& attribute, const Frame& frame) {
  if (attribute.ref_attr_name().empty()) return &attribute;
  if (frame.attributes == nullptr) return nullptr;
  const auto found = frame.attributes->find(attribute.ref_attr_name());
  return found == frame.attributes->end() ? nullptr : found->second;
}

std::string text_attribute(const PluginRequest& request, std::string_view name, const char* fallback) {
  const OnnxAttribute* const found = request.find(name);
  const auto* texts = found == nullptr ? nullptr : std::get_if<std::vector<std::string>>(&found->value);
  return texts == nullptr || texts->size() != 1 ? fallback : (*texts)[0];
}

// The operands in order, and then those that are shape inputs.
Result<std::vector<Value*>> in_order(const PluginRequest& request, const std::vector<Value*>& inputs, int64_t* shapes) {
  const OnnxAttribute* const found = request.find(kShapeInputs);
  const auto* numbers = found == nullptr ? nullptr : std::get_if<std::vector<int64_t>>(&found->value);
  if (found != nullptr && numbers == nullptr)
    return invalid_argument("attribute '{}' is no list of integers", kShapeInputs);
  std::vector<Value*> operands, last;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool shape =
        numbers != nullptr && std::find(numbers->begin(), numbers->end(), static_cast<int64_t>(i)) != numbers->end();
    (shape ? last : operands).push_back(inputs[i]);
  }
  if (numbers != nullptr && last.size() != numbers->size())
    return invalid_argument("attribute '{}' names inputs that are not there, or one twice", kShapeInputs);
  *shapes = static_cast<int64_t>(last.size());
  operands.insert(operands.end(), last.begin(), last.end());
  return operands;
}

}  // namespace

Result<PluginRequest> Importer::plugin_request(const Place& place, const Frame& frame) {
  PluginRequest request;
  request.node = place.name;
  request.name = place.node.op_type();
  for (const ::onnx::AttributeProto& given : place.node.attribute()) {
    const ::onnx::AttributeProto* const a = resolved(given, frame);
    if (a == nullptr) continue;
    OnnxAttribute made{given.name(), {}};
    switch (a->type()) {
      case ::onnx::AttributeProto::INT: made.value = std::vector<int64_t>{a->i()}; break;
      case ::onnx::AttributeProto::INTS: made.value = std::vector<int64_t>(a->ints().begin(), a->ints().end()); break;
      case ::onnx::AttributeProto::FLOAT: made.value = std::vector<float>{a->f()}; break;
      case ::onnx::AttributeProto::FLOATS:
        made.value = std::vector<float>(a->floats().begin(), a->floats().end());
        break;
      case ::onnx::AttributeProto::STRING: made.value = std::vector<std::string>{a->s()}; break;
      case ::onnx::AttributeProto::STRINGS:
        made.value = std::vector<std::string>(a->strings().begin(), a->strings().end());
        break;
      case ::onnx::AttributeProto::TENSOR: {
        WOOTZ_ASSIGN_OR_RETURN(made.value, reader_.read(a->t()));
        break;
      }
      default: continue;
    }
    request.attributes.push_back(std::move(made));
  }
  request.version = text_attribute(request, "plugin_version", "1");
  request.space = text_attribute(request, "plugin_namespace", "");
  return request;
}

// False: the node is no plugin.
bool Importer::import_plugin(const Place& place, Scope& scope, const Frame& frame, const std::vector<Slot>& inputs) {
  const bool known = !find_imports(place.domain, place.node.op_type()).empty();
  if (!options_.plugins || (known && !options_.plugins_first)) return false;
  return import_found(place, scope, frame, inputs, [&](const PluginRequest& request) -> Result<PluginWriter> {
    WOOTZ_ASSIGN_OR_RETURN(const std::shared_ptr<const CustomOp> plugin, options_.plugins(request));
    if (plugin == nullptr) return PluginWriter();
    return PluginWriter{[&request, plugin](NodeContext& context) { return add_plugin(request, plugin, context); }};
  });
}

bool Importer::import_found(const Place& place, Scope& scope, const Frame& frame, const std::vector<Slot>& inputs,
                            const FindPlugin& find) {
  const auto fail = [&](const Status& status) {
    report(place, status);
    poison_outputs(place, scope, frame);
    return true;
  };
  const Result<PluginRequest> request = plugin_request(place, frame);
  if (!request.ok()) return fail(request.status());
  const Result<PluginWriter> plugin = find(*request);
  if (!plugin.ok()) return fail(plugin.status());
  if (plugin->write == nullptr) return false;
  if (std::any_of(inputs.begin(), inputs.end(), [](const Slot& slot) { return slot.poisoned; })) {
    poison_outputs(place, scope, frame);
    return true;
  }
  NodeContext context(*this, place, scope, frame, inputs);
  const Status written = plugin->write(context);
  if (!written.ok()) return fail(written);
  plugin->operators ? take_results(place, scope, frame, context) : bind_results(place, scope, frame, context);
  return true;
}

Status Importer::add_plugin(const PluginRequest& request, const std::shared_ptr<const CustomOp>& plugin,
                            NodeContext& context) {
  std::vector<Value*> given;
  for (int i = 0; i < context.num_inputs(); ++i) given.push_back(context.input(i));
  int64_t shapes = 0;
  WOOTZ_ASSIGN_OR_RETURN(std::vector<Value*> operands, in_order(request, given, &shapes));
  if (context.num_outputs() > plugin->num_outputs())
    return invalid_argument("it has {} outputs, its plugin {}", context.num_outputs(), plugin->num_outputs());
  WOOTZ_ASSIGN_OR_RETURN(const Node* const node,
                         context.add("Plugin", std::move(operands), {{"plugin", plugin}, {"shape_inputs", shapes}},
                                     plugin->num_outputs()));
  for (int i = 0; i < context.num_outputs(); ++i)
    if (context.wants_output(i)) context.set_output(i, node->output(i));
  return Status();
}

}  // namespace wootz::importer
