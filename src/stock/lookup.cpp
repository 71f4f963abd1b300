#include "stock/plugin.h"

#include <algorithm>

#include "stock/tables.h"

namespace wootz::stock {
namespace {

auto key(const Plugin* plugin) { return std::pair(std::string_view(plugin->name), std::string_view(plugin->version)); }

}  // namespace

const std::vector<const Plugin*>& plugins() {
  static const std::vector<const Plugin*> kAll = [] {
    std::vector<const Plugin*> all;
    for (const std::span<const Plugin> table :
         {efficient_nms_plugins(), batched_nms_plugins(), region_plugins(), norm_plugins(), scatter_plugins(),
          deformable_plugins(), transformer_plugins(), attention_plugins(), point_plugins(), anchor_plugins(),
          mask_rcnn_plugins(), crop_plugins(), simple_plugins()})
      for (const Plugin& plugin : table) all.push_back(&plugin);
    std::sort(all.begin(), all.end(), [](const Plugin* x, const Plugin* y) { return key(x) < key(y); });
    return all;
  }();
  return kAll;
}

const Plugin* find_plugin(std::string_view name, std::string_view version) {
  for (const Plugin* plugin : plugins())
    if (key(plugin) == std::pair(name, version)) return plugin;
  return nullptr;
}

std::string versions_of(std::string_view name) {
  std::string list;
  for (const Plugin* plugin : plugins())
    if (plugin->name == name) list += (list.empty() ? "" : ", ") + std::string(plugin->version);
  return list;
}

int num_outputs(const Plugin& plugin, const Fields& fields) {
  return plugin.outputs > 0 ? plugin.outputs : plugin.count(fields);
}

Result<std::vector<Value*>> expand(const Plugin& plugin, GraphBuilder& builder, std::vector<Value*> inputs,
                                   const Fields& fields) {
  while (!inputs.empty() && inputs.back() == nullptr) inputs.pop_back();
  const auto given = static_cast<int>(inputs.size());
  if (given < plugin.min_inputs || given > plugin.max_inputs)
    return invalid_argument("plugin '{}' takes {} inputs, {} are given", plugin.name,
                            plugin.min_inputs == plugin.max_inputs
                                ? std::to_string(plugin.min_inputs)
                                : fmt::format("{} to {}", plugin.min_inputs, plugin.max_inputs),
                            given);
  Layer layer(builder, std::move(inputs), fields, num_outputs(plugin, fields));
  Status status = plugin.expand(layer);
  if (status.ok()) status = builder.status();
  if (!status.ok()) return status.with_prefix(fmt::format("plugin '{}' version '{}'", plugin.name, plugin.version));
  for (size_t o = 0; o < layer.num_outputs(); ++o)
    if (layer.outputs()[o] == nullptr)
      return internal_error("plugin '{}' version '{}' gave no output {}", plugin.name, plugin.version, o);
  return layer.outputs();
}

}  // namespace wootz::stock
