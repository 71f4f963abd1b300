// The plugins of a network that is being built.
#pragma once

#include <memory>

#include "api/plugins/network_plugin.h"
#include "ir/graph.h"

namespace wootz::api {

// Finds them in the graph and in its bodies, and gives each a name of its own there, by which steps know it (attribute
// `layer`). Null: there are none.
std::shared_ptr<const PluginSource> plugins_of(Graph& graph);

// The first layer whose plugin runs only at this place; empty: none does.
std::string first_layer_for(NetworkPlugin::Place place, const Graph& graph);
// The first layer whose plugin overwrites an operand; empty: none does.
std::string first_aliasing_layer(const Graph& graph);

}  // namespace wootz::api
