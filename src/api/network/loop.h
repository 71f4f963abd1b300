// ILoop: the body is what lies between its boundary layers.
#pragma once

#include "api/network/network.h"

namespace wootz::api {

class LoopOutputLayer;

class LoopImpl final : public nvinfer1::ILoop {
 public:
  LoopImpl(NetworkImpl& network, std::string name) : network_(network), name_(std::move(name)) {}

  nvinfer1::IRecurrenceLayer* addRecurrence(nvinfer1::ITensor& initialValue) noexcept override;
  nvinfer1::ITripLimitLayer* addTripLimit(nvinfer1::ITensor& tensor, nvinfer1::TripLimit limit) noexcept override;
  nvinfer1::IIteratorLayer* addIterator(nvinfer1::ITensor& tensor, int32_t axis, bool reverse) noexcept override;
  nvinfer1::ILoopOutputLayer* addLoopOutput(nvinfer1::ITensor& tensor, nvinfer1::LoopOutput outputKind,
                                            int32_t axis) noexcept override;
  void setName(const char* name) noexcept override;
  const char* getName() const noexcept override { return name_.c_str(); }

  // Emits the whole loop; gives a value to every output layer.
  Status emit(Emit& e);
  void collect_needs(std::vector<TensorImpl*>* needs) const;

 private:
  struct Body;
  Result<Value*> scalar(Emit& e, Value* v, DType dtype) const;
  EmissionScope::TensorSet inner_tensors() const;
  Result<Value*> emit_condition(EmissionScope& inner, const EmissionScope::TensorSet& inside,
                                const std::vector<Value*>& next);
  Status mark_results(Graph& graph, const std::vector<Value*>& results) const;
  Status emit_body(EmissionScope& scope, Body* body);
  Result<std::vector<Value*>> emit_operands(Emit& e);
  Result<Value*> emit_output(Emit& e, const LoopOutputLayer& layer, Node* node, int* stacked) const;

  NetworkImpl& network_;
  std::string name_;
  std::vector<LayerCore*> recurrences_, iterators_;
  LayerCore* count_ = nullptr;
  LayerCore* condition_ = nullptr;
  std::vector<LoopOutputLayer*> outputs_;
};

}  // namespace wootz::api
