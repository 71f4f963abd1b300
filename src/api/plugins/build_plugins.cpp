#include "api/plugins/build_plugins.h"

#include <algorithm>
#include <functional>
#include <map>

#include "api/runtime/plugins/describe.h"

namespace wootz::api {
namespace {

using Found = std::function<void(Node& node, const std::shared_ptr<const CustomOp>& plugin)>;

void each_plugin(Graph& graph, const Found& found) {
  for (Node* node = graph.first(); node != nullptr; node = node->next()) {
    if (const std::shared_ptr<const CustomOp> plugin = node->attr_custom("plugin")) found(*node, plugin);
    for (const auto& [name, attr] : node->attrs())
      if (const auto* inner = std::get_if<std::shared_ptr<Graph>>(&attr); inner != nullptr && *inner != nullptr)
        each_plugin(**inner, found);
  }
}

PluginTensor& entry(PluginTensors& tensors, size_t pos) {
  return pos < tensors.inputs.size() ? tensors.inputs[pos] : tensors.outputs[pos - tensors.inputs.size()];
}

// The layouts of all entries that a plugin accepts together, found entry by entry.
class Negotiation {
 public:
  Negotiation(NetworkPlugin& plugin, PluginTensors tensors)
      : plugin_(plugin),
        tensors_(std::move(tensors)),
        count_(tensors_.inputs.size() + tensors_.outputs.size()),
        most_(static_cast<size_t>(std::clamp(plugin.most_forms(), 1, kMostForms))) {}

  std::vector<PluginTensors> run() {
    step(0);
    return std::move(accepted_);
  }

  // Why nothing was accepted: the furthest entry that was refused, and what the plugin would take there.
  std::string complaint() {
    PluginTensors tensors = furthest_tensors_;
    const PluginTensor asked = entry(tensors, furthest_);
    std::string others;
    const auto try_out = [&](DType type, nvinfer1::TensorFormat format, bool offered) {
      if (!offered) return;
      others += fmt::format("{}{} {}", others.empty() ? "" : ", ", dtype_name(type), format_name(format));
    };
    constexpr DType kTypes[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kI32,
                                DType::kI64, DType::kI8,  DType::kBool};
    std::string offered;
    for (const FormatOfLayout& f : formats_for(asked.dims.rank(), asked.dtype))
      offered += fmt::format("{}{}", offered.empty() ? "" : ", ", format_name(f.format));
    for (const DType type : kTypes)
      for (const FormatOfLayout& f : formats_for(asked.dims.rank(), type)) {
        entry(tensors, furthest_).dtype = type;
        entry(tensors, furthest_).layout = f.layout;
        try_out(type, f.format, plugin_.supports(tensors, furthest_));
      }
    const bool input = furthest_ < tensors_.inputs.size();
    return fmt::format(
        "{} {} is {} of rank {}, which supportsFormatCombination refuses in each format that there is for that ({}); "
        "it "
        "would take {}",
        input ? "input" : "output", input ? furthest_ : furthest_ - tensors_.inputs.size(), dtype_name(asked.dtype),
        asked.dims.rank(), offered, others.empty() ? "none of the types and formats that there are here" : others);
  }

 private:
  static constexpr int kMostForms = 16;  // each is timed

  void step(size_t pos) {
    if (accepted_.size() >= most_) return;
    if (pos == count_) {
      accepted_.push_back(tensors_);
      return;
    }
    PluginTensor& at = entry(tensors_, pos);
    if (at.dtype == DType::kInvalid) return step(pos + 1);
    for (const FormatOfLayout& f : formats_for(at.dims.rank(), at.dtype)) {
      at.layout = f.layout;
      if (++asked_ > kMostQuestions) return;
      if (plugin_.supports(tensors_, pos)) {
        step(pos + 1);
      } else if (pos >= furthest_ && f.layout == Layout::kLinear) {
        furthest_ = pos;
        furthest_tensors_ = tensors_;
      }
    }
    at.layout = Layout::kLinear;
  }

  static constexpr int kMostQuestions = 100'000;
  NetworkPlugin& plugin_;
  PluginTensors tensors_, furthest_tensors_ = tensors_;
  const size_t count_, most_;
  size_t furthest_ = 0;
  int asked_ = 0;
  std::vector<PluginTensors> accepted_;
};

std::vector<Layout> layouts_of(const std::vector<PluginTensor>& tensors) {
  std::vector<Layout> layouts;
  for (const PluginTensor& t : tensors) layouts.push_back(t.layout);
  return layouts;
}

bool aliases_agree(const Ints& aliases, const PluginTensors& tensors) {
  for (size_t o = 0; o < aliases.size(); ++o)
    if (aliases[o] >= 0 && static_cast<size_t>(aliases[o]) < tensors.inputs.size() &&
        tensors.inputs[static_cast<size_t>(aliases[o])].layout != tensors.outputs[o].layout)
      return false;
  return true;
}

class BuildPlugins final : public PluginSource {
 public:
  using Map = std::map<std::string, std::shared_ptr<NetworkPlugin>, std::less<>>;
  explicit BuildPlugins(Map plugins) : plugins_(std::move(plugins)) {}

  Result<std::vector<PluginForm>> forms(const Problem& problem, const PluginParams& params) const override {
    WOOTZ_ASSIGN_OR_RETURN(const std::unique_ptr<NetworkPlugin> asked, clone_of(params));
    Negotiation negotiation(*asked, plugin_tensors(problem, params));
    std::vector<PluginTensors> accepted = negotiation.run();
    if (accepted.empty()) return unsupported("{}", negotiation.complaint());
    std::vector<PluginForm> forms;
    for (const PluginTensors& tensors : accepted) {
      if (!aliases_agree(params.aliases, tensors)) continue;
      WOOTZ_ASSIGN_OR_RETURN(const std::unique_ptr<NetworkPlugin> plugin, clone_of(params));
      WOOTZ_RETURN_IF_ERROR(plugin->configure(tensors));
      PluginForm& form = forms.emplace_back();
      form.inputs = layouts_of(tensors.inputs);
      form.outputs = layouts_of(tensors.outputs);
      WOOTZ_ASSIGN_OR_RETURN(form.tactics, plugin->tactics());
      WOOTZ_ASSIGN_OR_RETURN(form.workspace, plugin->workspace(tensors));
    }
    if (forms.empty()) return unsupported("an output that overwrites an input must have that input's format");
    return forms;
  }

  Result<std::shared_ptr<PluginObject>> make(const Problem& problem, const PluginParams& params, int32_t tactic,
                                             size_t workspace) const override {
    const auto make = [&]() -> Result<std::shared_ptr<PluginObject>> {
      WOOTZ_ASSIGN_OR_RETURN(const std::unique_ptr<NetworkPlugin> plugin, clone_of(params));
      WOOTZ_RETURN_IF_ERROR(plugin->configure(plugin_tensors(problem, params)));
      return plugin->release(tactic, workspace);
    };
    Result<std::shared_ptr<PluginObject>> made = make();
    return made.ok() ? std::move(made) : made.status().with_prefix(plugin_place(params));
  }

 private:
  Result<std::unique_ptr<NetworkPlugin>> clone_of(const PluginParams& params) const {
    const auto found = plugins_.find(params.layer);
    if (found == plugins_.end()) return internal_error("the plugin of '{}' is gone", params.layer);
    return found->second->clone();
  }

  Map plugins_;
};

}  // namespace

std::shared_ptr<const PluginSource> plugins_of(Graph& graph) {
  BuildPlugins::Map plugins;
  each_plugin(graph, [&](Node& node, const std::shared_ptr<const CustomOp>& op) {
    const auto plugin = std::dynamic_pointer_cast<NetworkPlugin>(std::const_pointer_cast<CustomOp>(op));
    if (plugin == nullptr) return;
    std::string name = node.name();
    for (int n = 2; plugins.contains(name) && plugins[name] != plugin; ++n) name = fmt::format("{}#{}", node.name(), n);
    plugins[name] = plugin;
    node.set_attr("layer", name);
  });
  return plugins.empty() ? nullptr : std::make_shared<BuildPlugins>(std::move(plugins));
}

std::string first_layer_for(NetworkPlugin::Place place, const Graph& graph) {
  std::string first;
  each_plugin(const_cast<Graph&>(graph), [&](Node& node, const std::shared_ptr<const CustomOp>& op) {
    const auto* plugin = dynamic_cast<const NetworkPlugin*>(op.get());
    if (first.empty() && plugin != nullptr && plugin->place() == place) first = node.name();
  });
  return first;
}

std::string first_aliasing_layer(const Graph& graph) {
  std::string first;
  each_plugin(const_cast<Graph&>(graph), [&](Node& node, const std::shared_ptr<const CustomOp>& op) {
    for (int o = 0; o < op->num_outputs() && first.empty(); ++o)
      if (op->aliased_input(o) >= 0) first = node.name();
  });
  return first;
}

}  // namespace wootz::api
