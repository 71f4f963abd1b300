// Layers that hold a plugin.
#include "api/network/add.h"
#include "api/network/adopt.h"
#include "api/plugins/network_plugin.h"
#include "api/plugins/stock.h"
#include "api/runtime/plugins/logger_finder.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: implements that interface, line by line

namespace {

// What both sorts of layer do.
template <class I>
class PluginLayer : public LayerBase<I> {
 public:
  PluginLayer(NetworkImpl& network, LayerType type, const char* kind, std::shared_ptr<const CustomOp> plugin,
              int64_t shape_inputs)
      : LayerBase<I>(network, type, kind), plugin_(std::move(plugin)), shape_inputs_(shape_inputs) {}

  std::string shown_metadata() const override {
    const auto* plugin = dynamic_cast<const NetworkPlugin*>(plugin_.get());
    return this->metadata.empty() && plugin != nullptr ? const_cast<NetworkPlugin*>(plugin)->metadata()
                                                       : this->metadata;
  }
  Status emit(Emit& e) override {
    std::vector<Value*> inputs;
    for (size_t i = 0; i < this->inputs.size(); ++i) inputs.push_back(e.in(i));
    if (const StockObject* const object = stock_object(plugin_.get())) {
      WOOTZ_ASSIGN_OR_RETURN(const std::vector<Value*> made,
                             stock::expand(*object->plugin, e, std::move(inputs), object->fields));
      for (size_t o = 0; o < this->outputs.size(); ++o) e.out(o, made[o]);
      return e.status();
    }
    Node* const node = e.node("Plugin", std::move(inputs), {{"plugin", plugin_}, {"shape_inputs", shape_inputs_}},
                              static_cast<int>(this->outputs.size()));
    for (size_t o = 0; node != nullptr && o < this->outputs.size(); ++o) e.out(o, node->output(static_cast<int>(o)));
    return e.status();
  }

 protected:
  std::shared_ptr<const CustomOp> plugin_;

 private:
  int64_t shape_inputs_;
};

class PluginV3Layer final : public PluginLayer<IPluginV3Layer> {
 public:
  PluginV3Layer(NetworkImpl& network, std::shared_ptr<const CustomOp> plugin, int64_t shape_inputs)
      : PluginLayer(network, LayerType::kPLUGIN_V3, "PluginV3", std::move(plugin), shape_inputs) {}
  IPluginV3& getPlugin() noexcept override { return *plugin_v3_of(plugin_.get()); }
};

class PluginV2Layer final : public PluginLayer<IPluginV2Layer> {
 public:
  PluginV2Layer(NetworkImpl& network, std::shared_ptr<const CustomOp> plugin)
      : PluginLayer(network, LayerType::kPLUGIN_V2, "PluginV2", std::move(plugin), 0) {}
  IPluginV2& getPlugin() noexcept override { return *plugin_v2_of(plugin_.get()); }
};

// Appends the tensors of an array, which may hold null where `optional`.
Status take_tensors(const NetworkImpl& network, ITensor* const* tensors, int32_t count, const char* what, bool optional,
                    std::vector<TensorImpl*>* taken) {
  if (count < 0 || count > limits::kMaxInputsPerNode) return invalid_argument("{} {}", count, what);
  if (count > 0 && tensors == nullptr) return invalid_argument("{} {}, and the array is null", count, what);
  for (int32_t i = 0; i < count; ++i) {
    if (tensors[i] == nullptr && optional) {
      taken->push_back(nullptr);
      continue;
    }
    WOOTZ_ASSIGN_OR_RETURN(taken->emplace_back(), network.own(tensors[i], what));
  }
  return Status();
}

}  // namespace

IPluginV3Layer* NetworkImpl::addPluginV3(ITensor* const* inputs, int32_t nbInputs, ITensor* const* shapeInputs,
                                         int32_t nbShapeInputs, IPluginV3& plugin) noexcept {
  return add_or_null<IPluginV3Layer>(*this, "INetworkDefinition::addPluginV3", [&]() -> Result<IPluginV3Layer*> {
    const LoggerScope scope({reporter().logger(), reporter().level()});
    std::vector<TensorImpl*> taken;
    WOOTZ_RETURN_IF_ERROR(take_tensors(*this, inputs, nbInputs, "inputs", true, &taken));
    WOOTZ_RETURN_IF_ERROR(take_tensors(*this, shapeInputs, nbShapeInputs, "shape inputs", false, &taken));
    WOOTZ_ASSIGN_OR_RETURN(const std::shared_ptr<NetworkPlugin> adopted,
                           adopt_plugin_v3(std::unique_ptr<IPluginV3>(plugin.clone())));
    return add_layer<PluginV3Layer>(std::move(taken), static_cast<size_t>(adopted->num_outputs()), adopted,
                                    int64_t{nbShapeInputs});
  });
}

IPluginV2Layer* NetworkImpl::addPluginV2(ITensor* const* inputs, int32_t nbInputs, IPluginV2& plugin) noexcept {
  return add_or_null<IPluginV2Layer>(*this, "INetworkDefinition::addPluginV2", [&]() -> Result<IPluginV2Layer*> {
    const LoggerScope scope({reporter().logger(), reporter().level()});
    std::vector<TensorImpl*> taken;
    WOOTZ_RETURN_IF_ERROR(take_tensors(*this, inputs, nbInputs, "inputs", false, &taken));
    WOOTZ_ASSIGN_OR_RETURN(const std::shared_ptr<NetworkPlugin> adopted, adopt_plugin_v2(OwnedV2(plugin.clone())));
    return add_layer<PluginV2Layer>(std::move(taken), static_cast<size_t>(adopted->num_outputs()), adopted);
  });
}

LayerCore* adopt_plugin(const AdoptContext& context) {
  const std::shared_ptr<const CustomOp> plugin = context.node.attr_custom("plugin");
  const auto outputs = static_cast<size_t>(context.node.num_outputs());
  if (plugin_v3_of(plugin.get()) != nullptr)
    return context.network.add_layer<PluginV3Layer>(context.inputs, outputs, plugin,
                                                    context.node.attr_int("shape_inputs"));
  if (plugin_v2_of(plugin.get()) != nullptr)
    return context.network.add_layer<PluginV2Layer>(context.inputs, outputs, plugin);
  return nullptr;
}

}  // namespace wootz::api
