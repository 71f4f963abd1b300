// IMoELayer.
#pragma once

#include "wootz/dims.h"
#include "wootz/layer.h"

namespace nvinfer1 {

/// Activation between the two products of an expert.
enum class MoEActType : int32_t {
  kNONE = 0,
  /// x * sigmoid(x).
  kSILU = 1,
};

template <>
struct impl::EnumMaxImpl<MoEActType> {
  static constexpr int32_t kVALUE = 2;
};

/// Mixture of experts: each token goes through its selected experts, and what they give is summed, weighted by their
/// scores. Inputs: 0 hidden states [batch, sequence, width], 1 the experts selected and 2 their scores [batch,
/// sequence, k]; 3 to 5 the weights of gate, up and down, 6 to 8 their biases, 9 the scale of a quantized input of
/// down. A number that is no expert's adds nothing.
class IMoELayer : public ILayer {
 public:
  /// Weights of gated experts, down(act(gate(x)) * up(x)), stacked by expert: gate and up [experts, width, inner], down
  /// [experts, inner, width].
  virtual void setGatedWeights(ITensor& fcGateWeights, ITensor& fcUpWeights, ITensor& fcDownWeights,
                               MoEActType activationType) noexcept = 0;

  /// Biases of the three products: [experts, inner] twice, [experts, width].
  virtual void setGatedBiases(ITensor& fcGateBiases, ITensor& fcUpBiases, ITensor& fcDownBiases) noexcept = 0;

  /// Activation of the gate.
  virtual void setActivationType(MoEActType activationType) noexcept = 0;
  virtual MoEActType getActivationType() const noexcept = 0;

  /// Quantizes the input of the down product to kFP8 with a fixed scale, one for all or one for each expert. Scales
  /// found during inference are refused.
  virtual void setQuantizationStatic(ITensor& fcDownActivationScale, DataType dataType) noexcept = 0;
  virtual void setQuantizationDynamicDblQ(ITensor& fcDownActivationDblQScale, DataType dataType, const Dims& blockShape,
                                          DataType dynQOutputScaleType) noexcept = 0;

  /// The choices made by the two above, one by one.
  virtual void setQuantizationToType(DataType type) noexcept = 0;
  virtual DataType getQuantizationToType() const noexcept = 0;
  virtual void setQuantizationBlockShape(const Dims& blockShape) noexcept = 0;
  virtual Dims getQuantizationBlockShape() const noexcept = 0;
  virtual void setDynQOutputScaleType(DataType type) noexcept = 0;
  virtual DataType getDynQOutputScaleType() const noexcept = 0;

  /// Parameters of the gated activation: the gate is at most the limit, up within [-limit, limit], and the product is
  /// gate * sigmoid(alpha * gate) * (up + beta). Infinity, 1 and 0 unless set.
  virtual void setSwigluParams(float limit, float alpha, float beta) noexcept = 0;
  virtual void setSwigluParamLimit(float limit) noexcept = 0;
  virtual float getSwigluParamLimit() const noexcept = 0;
  virtual void setSwigluParamAlpha(float alpha) noexcept = 0;
  virtual float getSwigluParamAlpha() const noexcept = 0;
  virtual void setSwigluParamBeta(float beta) noexcept = 0;
  virtual float getSwigluParamBeta() const noexcept = 0;

  /// Replaces input `index`; see the class.
  void setInput(int32_t index, ITensor& tensor) noexcept override = 0;

 protected:
  ~IMoELayer() noexcept override = default;
};

}  // namespace nvinfer1
