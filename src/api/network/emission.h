// From layers to a graph: walks from the tensors that are wanted back to the inputs, and asks each layer on the way for
// its nodes. Serves shape queries (kept, and extended while the network grows) and builds (made anew).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "api/network/layer.h"
#include "ops/support/graph_builder.h"

namespace wootz::api {

class Emission;
class LoopImpl;

// One graph being emitted: the network's own, or the body of a loop or branch of a conditional, where tensors that do
// not belong inside come in from the parent.
class EmissionScope {
 public:
  using TensorSet = std::unordered_set<const TensorImpl*>;
  EmissionScope(Emission& emission, Graph& graph, EmissionScope* parent, const TensorSet* inside)
      : emission_(emission), graph_(graph), parent_(parent), inside_(inside) {}

  Graph& graph() { return graph_; }
  EmissionScope* parent() { return parent_; }
  Emission& emission() { return emission_; }
  // The value of a tensor, emitted now if need be. Errors: of the layers that it depends on, a cycle.
  Result<Value*> value(const TensorImpl* tensor);
  // Emits a layer and what it needs.
  Status ensure(const LayerCore& layer);
  Value* find(const TensorImpl* tensor) const;
  void set(const TensorImpl* tensor, Value* value) { values_[tensor] = value; }
  // For layers whose outputs were set otherwise: by an imported graph, whose nodes they stand for, or with another's.
  void mark_emitted(const LayerCore& layer, std::vector<Node*> nodes);
  void mark_shared(const LayerCore& layer);  // emitted together with others
  // In the body of a loop: which loop, and the number of the iteration, i64. Null elsewhere.
  const LoopImpl* loop = nullptr;
  Value* iteration = nullptr;
  bool past_end = false;  // the iteration may be the one after the last
  // The layer says something else than it did: refresh() makes its nodes anew. False where others depend on how it was
  // emitted, and the graph has to be emitted from the beginning.
  bool outdate(const LayerCore& layer);
  // To be called before the graph is asked for anything. False: as above.
  bool refresh();
  bool has_emitted(const LayerCore& layer) const { return nodes_.count(&layer) != 0; }

  // Values of the parent that came in, in order: the graph's last inputs.
  const std::vector<Value*>& captured() const { return captured_; }

 private:
  friend class Emit;
  enum class State : uint8_t { kNew, kOpen, kDone };
  Result<Value*> enter(const TensorImpl* tensor);  // an input, a constant, or from the parent
  Result<Value*> as_imported(const TensorImpl& tensor, Value* input);
  bool is_inside(const TensorImpl* tensor) const { return inside_ == nullptr || inside_->count(tensor) != 0; }
  Status emit_layer(const LayerCore& layer);
  Status emit_nodes(const LayerCore& layer, Emit& e);
  Status emit_once(const LayerCore& layer, Emit& e);
  void take_outputs(const LayerCore& layer, Emit& e);
  bool stands_alone(const LayerCore& layer) const;  // its results were made by its own nodes, and for it alone
  std::vector<Node*> readers(const LayerCore& layer) const;
  void keep_names(const LayerCore& layer);
  void restore_names(const LayerCore& layer);
  bool emit_in_place(const LayerCore& layer);
  bool forget_with_readers(const LayerCore& layer);
  Status emit_origin(const LayerCore& layer, Emit& e);
  Status emit_taken(const LayerCore& layer, Emit& e, const std::vector<Value*>& inputs, bool taken,
                    const std::string& why = "");

  Emission& emission_;
  Graph& graph_;
  EmissionScope* parent_;
  const TensorSet* inside_;
  std::unordered_map<const TensorImpl*, Value*> values_;
  std::unordered_map<const LayerCore*, std::vector<Node*>> nodes_;  // of emitted layers
  std::unordered_set<const LayerCore*> shared_;                     // of those: emitted together with others
  std::vector<const LayerCore*> outdated_;
  struct Names {
    std::string layer;
    std::vector<std::string> nodes;
  };
  std::unordered_map<const LayerCore*, Names> names_;  // of nodes that are gone: those that come after them take these
  std::vector<Value*> captured_;
};

// A layer's weights as a constant.
struct EmittedWeights {
  const Graph* graph;  // of the network, or a body
  int value_id;
  const LayerCore* layer;
  nvinfer1::WeightsRole role;
  nvinfer1::Weights weights;
};

class Emission {
 public:
  Emission(const std::string& name, bool for_build);
  // Over an imported graph, which it adds to.
  explicit Emission(std::shared_ptr<Graph> imported);

  EmissionScope& root() { return root_; }
  std::shared_ptr<Graph> graph() { return graph_; }
  // Failed layers stay failed, so that a problem is reported once.
  const Status* failure(const LayerCore& layer) const;
  void note_failure(const LayerCore& layer, const Status& status) { failures_.emplace(&layer, status); }
  size_t num_failures() const { return failures_.size(); }
  void forget_failures() { failures_.clear(); }
  // Whether the layer was emitted into a loop's or branch's graph.
  bool is_in_body(const LayerCore& layer) const { return in_bodies_.count(&layer) != 0; }
  void note_in_body(const LayerCore& layer) { in_bodies_.insert(&layer); }
  std::vector<EmittedWeights>& weights() { return weights_; }
  // Where `value` is a layer's weights, so is its copy in a body.
  void repeat_weights(const Value& value, const Value& copy);

  Value* add_input(const TensorImpl& tensor);
  // An attribute's subgraph of an imported model, in this graph's symbols.
  // `fed`: what its inputs are in the outer graph; empty: as they were, each time it runs.
  Result<std::shared_ptr<Graph>> copy_subgraph(const Graph& from, Graph& outer, const std::vector<Value*>& fed);
  // Learns what a symbol of the imported graph is here.
  void match_symbols(const Shape& there, const Shape& here);

 private:
  bool for_build_;
  std::shared_ptr<Graph> graph_;
  EmissionScope root_;
  std::map<std::string, Dim> named_dims_;
  std::unordered_map<SymbolId, Dim> symbols_;  // imported to ours
  std::unordered_map<const LayerCore*, Status> failures_;
  std::vector<EmittedWeights> weights_;
  std::unordered_set<const LayerCore*> in_bodies_;
};

// Whether an input is a small list of integers, which may turn out to be a shape.
bool may_decide_shapes(const TensorImpl& input);

// The tensors that depend on one of `roots` and lead to one of `ends`; what `stop` produces is not entered.
EmissionScope::TensorSet tensors_between(const std::vector<const TensorImpl*>& roots,
                                         const std::vector<const TensorImpl*>& ends,
                                         const std::unordered_set<const LayerCore*>& stop);

// The nodes of a layer: the first one has its name, further ones say what they are.
class LayerSink final : public NodeSink {
 public:
  LayerSink(EmissionScope& scope, const LayerCore& layer) : scope(scope), layer(layer) {}
  Graph& graph() override { return scope.graph(); }
  Result<Node*> add(std::string_view op, std::vector<Value*> inputs, AttrMap attrs, int num_outputs) override;
  Value* add_constant(HostTensor tensor) override;

  EmissionScope& scope;
  const LayerCore& layer;
  std::vector<Node*> nodes;
};

// Handed to LayerCore::emit: the layer's input values, and a builder of its nodes.
class Emit : private WithSink<LayerSink>, public GraphBuilder {
 public:
  Emit(EmissionScope& scope, const LayerCore& layer) : WithSink(scope, layer), GraphBuilder(sink) {}

  EmissionScope& scope() { return sink.scope; }
  bool has(size_t i) const { return i < sink.layer.inputs.size() && sink.layer.inputs[i] != nullptr; }
  Value* in(size_t i) { return has(i) ? operand(sink.layer.inputs[i]) : nullptr; }
  // What the layer reads of a tensor: its value, or that value in one type with others (start_again_in_one_type).
  Value* operand(const TensorImpl* tensor);
  // Host weights as a constant of this shape, in this role of the layer for refitters. Errors: a wrong count or type.
  Value* weights(const nvinfer1::Weights& weights, const wootz::Dims& dims, const char* what,
                 nvinfer1::WeightsRole role = nvinfer1::WeightsRole::kANY);

  void out(size_t i, Value* value);
  // Output 0 of each of several layers that are emitted together, this one among them.
  void give(const std::vector<LayerCore*>& layers, const std::function<Value*(size_t)>& value);

 private:
  friend class EmissionScope;
  // Where types are for the build to choose and these operands are floats of several types: makes ready for emitting
  // the layer once more, with all of them in f32. False: they are not.
  bool start_again_in_one_type();

  std::vector<Value*> outputs_;
  DType common_ = DType::kInvalid;
  std::unordered_map<const TensorImpl*, Value*> in_common_;
};

}  // namespace wootz::api
