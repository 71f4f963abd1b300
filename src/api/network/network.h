// INetworkDefinition: layers and tensors, and the graph they stand for.
//
// A parsed model is kept as the graph that the importer made. Its layers are made when they are asked for: handles on
// its nodes. The graph grows with layers that are added, a layer that a setter changed makes its own nodes anew
// (reemission.cpp), and a build takes a copy of what its outputs need. Networks written layer by layer are emitted for
// each build.
#pragma once

#include <list>
#include <set>

#include "api/network/emission.h"
#include "api/runtime/reporter.h"
#include "build/settings.h"
#include "onnx/import.h"

namespace wootz::api {

class Adoption;
class AttentionImpl;
class ConditionalImpl;
class LoopImpl;

class NetworkImpl final : public nvinfer1::INetworkDefinition, public Owner {
 public:
  NetworkImpl(nvinfer1::IBuilder& builder, const Reporter& reporter, nvinfer1::NetworkDefinitionCreationFlags flags);
  ~NetworkImpl() noexcept override;

  const Reporter& reporter() const override { return reporter_; }
  bool strongly_typed() const override;
  // By the library's own numbers, whatever the caller's level.
  bool has_flag(nvinfer1::NetworkDefinitionCreationFlag flag) const {
    return (flags_ >> static_cast<uint32_t>(flag) & 1U) != 0;
  }

  // A layer of class L, named and numbered, with these inputs and a number of outputs.
  template <class L, class... Args>
  L* add_layer(std::vector<TensorImpl*> inputs, size_t outputs, Args&&... args) {
    auto layer = std::make_unique<L>(*this, std::forward<Args>(args)...);
    L* result = layer.get();
    attach(std::move(layer), std::move(inputs), outputs);
    return result;
  }
  Result<TensorImpl*> own(const nvinfer1::ITensor* tensor, const char* what = "the tensor") const override;
  Result<std::vector<TensorImpl*>> own(std::initializer_list<const nvinfer1::ITensor*> tensors) const;
  TensorImpl* new_tensor(std::string name);
  const std::list<TensorImpl>& tensors() const { return tensors_; }
  const std::vector<std::unique_ptr<LayerCore>>& layers() const;
  // Those that were made so far: of a parsed model whose layers were never asked for, none.
  const std::vector<std::unique_ptr<LayerCore>>& made_layers() const { return layers_; }
  const std::vector<TensorImpl*>& inputs() const { return inputs_; }
  const std::vector<TensorImpl*>& outputs() const { return outputs_; }

  void changed(const LayerCore* layer) override;
  void renamed(const TensorImpl& tensor) override;
  void renamed(const LayerCore& layer) override;
  const Value* query(const TensorImpl* tensor, bool elements = false) const override;
  bool decides_shapes(const TensorImpl* input) const override;
  // The whole network as a graph of its own, for a build: inputs and outputs in order, named.
  // `weights`, unless null: its constants as refitters know them.
  Result<std::shared_ptr<Graph>> build_graph(std::vector<NamedWeight>* weights = nullptr);
  // Appends an imported graph; its inputs and outputs become the network's.
  Status adopt(std::shared_ptr<Graph> graph, bool exact_types);
  // Nodes of imported models that no layer stands for.
  std::vector<AbsentNode>& absent() { return absent_; }
  const std::set<std::string, std::less<>>& refittable() const { return refittable_; }
  bool unfused_debug() const { return unfused_debug_; }

  // INetworkDefinition
  nvinfer1::ITensor* addInput(const char* name, nvinfer1::DataType type,
                              const nvinfer1::Dims& dimensions) noexcept override;
  void markOutput(nvinfer1::ITensor& tensor) noexcept override;
  void unmarkOutput(nvinfer1::ITensor& tensor) noexcept override;
  bool markOutputForShapes(nvinfer1::ITensor& tensor) noexcept override;
  bool unmarkOutputForShapes(nvinfer1::ITensor& tensor) noexcept override;
  void removeTensor(nvinfer1::ITensor& tensor) noexcept override;
  int32_t getNbInputs() const noexcept override { return static_cast<int32_t>(inputs_.size()); }
  nvinfer1::ITensor* getInput(int32_t index) const noexcept override;
  int32_t getNbOutputs() const noexcept override { return static_cast<int32_t>(outputs_.size()); }
  nvinfer1::ITensor* getOutput(int32_t index) const noexcept override;
  int32_t getNbLayers() const noexcept override;
  nvinfer1::ILayer* getLayer(int32_t index) const noexcept override;
  void setName(const char* name) noexcept override;
  const char* getName() const noexcept override { return name_.c_str(); }
  nvinfer1::NetworkDefinitionCreationFlags getFlags() const noexcept override;
  bool getFlag(nvinfer1::NetworkDefinitionCreationFlag flag) const noexcept override;
  bool hasImplicitBatchDimension() const noexcept override { return false; }
  nvinfer1::IBuilder& getBuilder() const noexcept override { return builder_; }
  void setErrorRecorder(nvinfer1::IErrorRecorder* recorder) noexcept override { reporter_.set_recorder(recorder); }
  nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept override { return reporter_.recorder(); }
  bool setWeightsName(nvinfer1::Weights weights, const char* name) noexcept override;
  bool markWeightsRefittable(const char* name) noexcept override;
  bool unmarkWeightsRefittable(const char* name) noexcept override;
  bool areWeightsMarkedRefittable(const char* name) const noexcept override;
  bool markDebug(nvinfer1::ITensor& tensor) noexcept override;
  bool unmarkDebug(nvinfer1::ITensor& tensor) noexcept override;
  bool isDebugTensor(const nvinfer1::ITensor& tensor) const noexcept override;
  bool markUnfusedTensorsAsDebugTensors() noexcept override { return unfused_debug_ = true; }
  bool unmarkUnfusedTensorsAsDebugTensors() noexcept override;
#include "api/network/add_methods.inc"

  std::list<std::unique_ptr<LoopImpl>> loops;
  std::list<std::unique_ptr<ConditionalImpl>> conditionals;
  std::list<std::unique_ptr<AttentionImpl>> attentions;

 private:
  void attach(std::unique_ptr<LayerCore> layer, std::vector<TensorImpl*> inputs, size_t outputs);
  bool weights_known(const std::string& name) const;
  std::string name_of_weights(const nvinfer1::Weights& weights) const;
  // Constants of an emission's graph, or of a copy of it.
  std::vector<NamedWeight> name_weights(Emission& emission, const Graph& graph) const;
  bool name_taken(const std::string& name, const TensorImpl* except) const;
  bool is_empty() const { return tensors_.empty() && layers_.empty() && unmade_ == nullptr; }
  Status make_layers();  // those that are yet unmade
  void drop_imported();
  void refresh() const;
  Emission& query_emission(bool elements) const;
  Status ensure_wanted(EmissionScope& scope, std::vector<Value*>* outputs, std::vector<Value*>* debug) const;

  nvinfer1::IBuilder& builder_;
  Reporter reporter_;
  nvinfer1::NetworkDefinitionCreationFlags flags_;
  std::string name_ = "network";
  std::list<TensorImpl> tensors_;  // addresses stay
  std::vector<std::unique_ptr<LayerCore>> layers_;
  std::vector<TensorImpl*> inputs_, outputs_;
  std::set<std::string, std::less<>> refittable_;
  std::vector<std::pair<nvinfer1::Weights, std::string>> weight_names_;  // by setWeightsName
  bool unfused_debug_ = false;
  std::vector<std::shared_ptr<Graph>> adopted_;
  std::vector<AbsentNode> absent_;
  std::unique_ptr<Emission> imported_;  // over the imported graph; null once that has to be emitted from the layers
  std::unique_ptr<Adoption> unmade_;    // layers of the imported graph, until they are asked for
  mutable std::unique_ptr<Emission> emission_;
};

}  // namespace wootz::api
