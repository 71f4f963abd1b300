// What all layers have in common. A layer keeps settings and inputs; what it computes it says in emit(), as nodes of
// the IR, each time a graph of the network is wanted (emission.h). So a setter has nothing to rewrite, and a network
// can be built many times.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/network/tensor.h"
#include "ir/graph.h"

namespace wootz::api {

class Emit;

// The node that a layer of an imported model stands for. It is emitted as it is until a setter changes the layer.
struct Origin {
  const OpDef* op = nullptr;
  AttrMap attrs;
  std::vector<TensorImpl*> inputs;  // constants included; null: omitted
  std::vector<std::string> provenance;
  int outputs = 1;
};

class LayerCore {
 public:
  LayerCore(Owner& network, nvinfer1::LayerType type, const char* kind) : network_(network), type_(type), kind_(kind) {}
  virtual ~LayerCore() = default;
  LayerCore(const LayerCore&) = delete;
  LayerCore& operator=(const LayerCore&) = delete;

  virtual nvinfer1::ILayer& api() = 0;
  // Adds the layer's nodes and hands over its outputs. A refusal need not name the layer.
  virtual Status emit(Emit& e) = 0;
  // What must have its value before emit().
  virtual void collect_needs(std::vector<TensorImpl*>* needs) const {
    const std::vector<TensorImpl*>& list = origin ? origin->inputs : inputs;
    needs->insert(needs->end(), list.begin(), list.end());
  }
  // The weights that it was given.
  virtual void collect_weights(std::vector<nvinfer1::Weights>* weights) const { (void)weights; }
  // What reports show of the layer beside its name.
  virtual std::string shown_metadata() const { return metadata; }
  // To be emitted though no output depends on it.
  virtual bool has_effects() const { return false; }

  Owner& network() const { return network_; }
  nvinfer1::LayerType type() const { return type_; }
  const char* kind() const { return kind_; }
  const std::string& name() const { return name_; }
  void set_name(std::string name);  // tensors that have no name of their own follow
  // "layer 'conv1' [Convolution]"
  std::string place() const;
  // The failure, at this layer.
  Status at(const Status& status) const;

  // The settings are not those of the last emission any more.
  void changed();
  Status replace_input(int32_t index, nvinfer1::ITensor& tensor);

  std::vector<TensorImpl*> inputs;  // null: not given
  std::vector<TensorImpl*> outputs;
  size_t most_inputs = 0;  // setInput may go up to this; 0: as many as there are
  std::optional<Origin> origin;
  std::string metadata;
  DType precision = DType::kInvalid;
  std::map<int32_t, DType> output_types;

 private:
  Owner& network_;
  nvinfer1::LayerType type_;
  const char* kind_;
  std::string name_;
};

// Of layers that do not span devices: one is all there can be.
bool take_ranks(const Owner& network, const char* call, int32_t ranks) noexcept;

// The methods of ILayer over a LayerCore.
template <class I>
class LayerBase : public I, public LayerCore {
 public:
  using LayerCore::LayerCore;
  nvinfer1::ILayer& api() override { return *this; }

  nvinfer1::LayerType getType() const noexcept override { return type(); }
  void setName(const char* text) noexcept override { layer_set_name(*this, text); }
  const char* getName() const noexcept override { return name().c_str(); }
  int32_t getNbInputs() const noexcept override { return static_cast<int32_t>(inputs.size()); }
  nvinfer1::ITensor* getInput(int32_t index) const noexcept override {
    return index >= 0 && index < getNbInputs() ? inputs[static_cast<size_t>(index)] : nullptr;
  }
  int32_t getNbOutputs() const noexcept override { return static_cast<int32_t>(outputs.size()); }
  nvinfer1::ITensor* getOutput(int32_t index) const noexcept override {
    return index >= 0 && index < getNbOutputs() ? outputs[static_cast<size_t>(index)] : nullptr;
  }
  void setInput(int32_t index, nvinfer1::ITensor& tensor) noexcept override { layer_set_input(*this, index, tensor); }
  void setPrecision(nvinfer1::DataType dataType) noexcept override { layer_set_precision(*this, dataType); }
  nvinfer1::DataType getPrecision() const noexcept override {
    return precision == DType::kInvalid ? nvinfer1::DataType::kFLOAT : to_api(precision);
  }
  bool precisionIsSet() const noexcept override { return precision != DType::kInvalid; }
  void resetPrecision() noexcept override { precision = DType::kInvalid; }
  void setOutputType(int32_t index, nvinfer1::DataType dataType) noexcept override {
    layer_set_output_type(*this, index, dataType);
  }
  nvinfer1::DataType getOutputType(int32_t index) const noexcept override {
    if (const auto it = output_types.find(index); it != output_types.end()) return to_api(it->second);
    const nvinfer1::ITensor* tensor = getOutput(index);
    return tensor == nullptr ? nvinfer1::DataType::kFLOAT : tensor->getType();
  }
  bool outputTypeIsSet(int32_t index) const noexcept override { return output_types.count(index) != 0; }
  void resetOutputType(int32_t index) noexcept override {
    if (output_types.erase(index) != 0) changed();
  }
  void setMetadata(const char* text) noexcept override { layer_set_metadata(*this, text); }
  const char* getMetadata() const noexcept override { return metadata.c_str(); }
  bool setNbRanks(int32_t nbRanks) noexcept override { return take_ranks(network(), "ILayer::setNbRanks", nbRanks); }
  int32_t getNbRanks() const noexcept override { return 1; }
};

// The parts that can fail; not in the template.
void layer_set_name(LayerCore& layer, const char* name) noexcept;
void layer_set_input(LayerCore& layer, int32_t index, nvinfer1::ITensor& tensor) noexcept;
void layer_set_precision(LayerCore& layer, nvinfer1::DataType type) noexcept;
void layer_set_output_type(LayerCore& layer, int32_t index, nvinfer1::DataType type) noexcept;
void layer_set_metadata(LayerCore& layer, const char* text) noexcept;

// A setting with its setter and getter.
#define WOOTZ_SETTING(type, Name, member)        \
  void set##Name(type value) noexcept override { \
    member = value;                              \
    changed();                                   \
  }                                              \
  type get##Name() const noexcept override { return member; }
#define WOOTZ_DIMS_SETTING(Name, member)                          \
  void set##Name(const nvinfer1::Dims& value) noexcept override { \
    member = value;                                               \
    changed();                                                    \
  }                                                               \
  nvinfer1::Dims get##Name() const noexcept override { return member; }

}  // namespace wootz::api
