// IAttention: an object over one layer that computes it all.
#pragma once

#include "api/network/network.h"

namespace wootz::api {

class AttentionLayer;

class AttentionImpl final : public nvinfer1::IAttention {
 public:
  explicit AttentionImpl(NetworkImpl& network) : network_(network) {}
  void attach(AttentionLayer* layer) { layer_ = layer; }

  bool setNormalizationOperation(nvinfer1::AttentionNormalizationOp op) noexcept override;
  nvinfer1::AttentionNormalizationOp getNormalizationOperation() const noexcept override;
  bool setMask(nvinfer1::ITensor& mask) noexcept override;
  nvinfer1::ITensor* getMask() noexcept override;
  bool setCausal(bool isCausal) noexcept override;
  bool getCausal() const noexcept override;
  bool setDecomposable(bool decomposable) noexcept override;
  bool getDecomposable() const noexcept override { return decomposable_; }
  bool setInput(int32_t index, nvinfer1::ITensor& input) noexcept override;
  int32_t getNbInputs() const noexcept override { return 3; }
  nvinfer1::ITensor* getInput(int32_t index) const noexcept override;
  int32_t getNbOutputs() const noexcept override { return 1; }
  nvinfer1::ITensor* getOutput(int32_t index) const noexcept override;
  bool setName(const char* name) noexcept override;
  const char* getName() const noexcept override;
  bool setNormalizationQuantizeScale(nvinfer1::ITensor& tensor) noexcept override;
  nvinfer1::ITensor* getNormalizationQuantizeScale() const noexcept override { return nullptr; }
  bool setNormalizationQuantizeToType(nvinfer1::DataType type) noexcept override;
  nvinfer1::DataType getNormalizationQuantizeToType() const noexcept override { return nvinfer1::DataType::kFP8; }
  bool setMetadata(const char* metadata) noexcept override;
  const char* getMetadata() const noexcept override;
  bool setNbRanks(int32_t nbRanks) noexcept override { return take_ranks(network_, "IAttention::setNbRanks", nbRanks); }
  int32_t getNbRanks() const noexcept override { return 1; }
  bool setCausalKind(nvinfer1::CausalMaskKind kind) noexcept override;
  nvinfer1::CausalMaskKind getCausalKind() const noexcept override;
  bool setQueryForm(nvinfer1::AttentionIOForm form) noexcept override;
  nvinfer1::AttentionIOForm getQueryForm() const noexcept override { return kPadded; }
  bool setKeyValueForm(nvinfer1::AttentionIOForm form) noexcept override;
  nvinfer1::AttentionIOForm getKeyValueForm() const noexcept override { return kPadded; }
  bool setQueryLengths(nvinfer1::ITensor* lengths) noexcept override;
  nvinfer1::ITensor* getQueryLengths() const noexcept override { return nullptr; }
  bool setKeyValueLengths(nvinfer1::ITensor* lengths) noexcept override;
  nvinfer1::ITensor* getKeyValueLengths() const noexcept override { return nullptr; }

  // Enumerators of level 11.
  static constexpr nvinfer1::AttentionIOForm kPadded{0};
  static constexpr nvinfer1::CausalMaskKind kNoMask{0}, kUpperLeft{1}, kLowerRight{2};
  // Whether the mask is causal. Errors: a kind that is not built.
  static Result<bool> is_causal(nvinfer1::CausalMaskKind kind);

 private:
  NetworkImpl& network_;
  AttentionLayer* layer_ = nullptr;
  bool decomposable_ = false;
};

}  // namespace wootz::api
