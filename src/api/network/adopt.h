// Nodes of an imported graph as layers. A function answers for a group of ops: the layer, made by add_layer with the
// given inputs, or null when the node has no counterpart among the layer classes; it is then shown as a plain layer.
#pragma once

#include <vector>

#include "api/network/network.h"

namespace wootz::api {

struct AdoptContext {
  NetworkImpl& network;
  const Node& node;
  std::vector<TensorImpl*> inputs;  // of the node, in its order; null: omitted
};

using AdoptFunction = LayerCore* (*)(const AdoptContext& c);

LayerCore* adopt_pointwise(const AdoptContext& c);
LayerCore* adopt_conv(const AdoptContext& c);
LayerCore* adopt_pool(const AdoptContext& c);
LayerCore* adopt_norm(const AdoptContext& c);
LayerCore* adopt_reduce(const AdoptContext& c);
LayerCore* adopt_matrix(const AdoptContext& c);
LayerCore* adopt_gather(const AdoptContext& c);
LayerCore* adopt_shape(const AdoptContext& c);

}  // namespace wootz::api
