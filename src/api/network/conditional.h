// IIfConditional: the branches are the layers between its input layers and one side of its output layers.
#pragma once

#include "api/network/network.h"

namespace wootz::api {

class ConditionalImpl final : public nvinfer1::IIfConditional {
 public:
  ConditionalImpl(NetworkImpl& network, std::string name) : network_(network), name_(std::move(name)) {}

  nvinfer1::IConditionLayer* setCondition(nvinfer1::ITensor& condition) noexcept override;
  nvinfer1::IIfConditionalOutputLayer* addOutput(nvinfer1::ITensor& trueSubgraphOutput,
                                                 nvinfer1::ITensor& falseSubgraphOutput) noexcept override;
  nvinfer1::IIfConditionalInputLayer* addInput(nvinfer1::ITensor& input) noexcept override;
  void setName(const char* name) noexcept override;
  const char* getName() const noexcept override { return name_.c_str(); }

  // Emits both branches and the choice between them; gives a value to every output layer.
  Status emit(Emit& e);
  void collect_needs(std::vector<TensorImpl*>* needs) const;

 private:
  Result<std::shared_ptr<Graph>> emit_branch(EmissionScope& scope, size_t side, std::vector<Value*>* node_inputs);

  NetworkImpl& network_;
  std::string name_;
  LayerCore* condition_ = nullptr;
  std::vector<LayerCore*> inputs_, outputs_;
};

}  // namespace wootz::api
