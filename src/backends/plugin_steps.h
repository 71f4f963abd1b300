// Steps of family `plugin`, on every backend: the plugin is handed the device's addresses and its stream, and null for
// a stream where the host does the work.
#pragma once

#include "backend/plugin.h"

namespace wootz {

// Offers what the source says of a step's plugin, and runs it. For as long as kernels are made of one network or plan;
// they keep the source.
std::unique_ptr<const Provider> plugin_steps_provider(std::shared_ptr<const PluginSource> source);

// The form that a tactic of this provider stands for. Errors: it is no such tactic.
struct PluginTactic {
  int32_t number = 0;
  size_t workspace = 0;
};
Result<PluginTactic> read_plugin_tactic(const Tactic& tactic);

}  // namespace wootz
