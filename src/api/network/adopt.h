// Nodes of an imported graph as layers.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "api/network/network.h"

namespace wootz::api {

// An imported graph whose layers are yet to be made: one for each of its nodes.
class Adoption {
 public:
  // `scope`: emitted from this graph, so that it learns which value a tensor is and which layer needs no nodes. Null:
  // the layers emit their nodes elsewhere.
  Adoption(NetworkImpl& network, std::shared_ptr<Graph> graph, EmissionScope* scope);

  TensorImpl* input(Value* value);   // for an input of the graph
  TensorImpl* tensor(Value* value);  // for any value
  // Appends the layers to the network's.
  Status make_layers();
  size_t num_unmade() const { return unmade_; }

 private:
  Status make_layer(const Node& node);
  void note(Value* value, TensorImpl* tensor);

  NetworkImpl& network_;
  std::shared_ptr<Graph> graph_;
  EmissionScope* scope_;
  const Node* last_;  // what comes after it in the graph is of other layers
  size_t unmade_;
  std::unordered_map<const Value*, TensorImpl*> tensors_;
};

// A function answers for a group of ops: the layer, made by add_layer with the given inputs, or null when the node has
// no counterpart among the layer classes; it is then shown as a plain layer.
struct AdoptContext {
  NetworkImpl& network;
  const Node& node;
  std::vector<TensorImpl*> inputs;  // of the node, in its order; null: omitted
};

using AdoptFunction = LayerCore* (*)(const AdoptContext& c);

LayerCore* adopt_plugin(const AdoptContext& c);  // any number of results
LayerCore* adopt_pointwise(const AdoptContext& c);
LayerCore* adopt_conv(const AdoptContext& c);
LayerCore* adopt_pool(const AdoptContext& c);
LayerCore* adopt_norm(const AdoptContext& c);
LayerCore* adopt_reduce(const AdoptContext& c);
LayerCore* adopt_matrix(const AdoptContext& c);
LayerCore* adopt_gather(const AdoptContext& c);
LayerCore* adopt_shape(const AdoptContext& c);

}  // namespace wootz::api
