// Mixture of experts.
#include <cmath>

#include "api/network/add.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: implements that interface, line by line

namespace {

enum Input : int32_t {
  kStates,
  kExperts,
  kScores,
  kGateWeights,
  kUpWeights,
  kDownWeights,
  kGateBiases,
  kUpBiases,
  kDownBiases,
  kDownScale,
  kInputs
};

class MoELayer final : public LayerBase<IMoELayer> {
 public:
  explicit MoELayer(NetworkImpl& network) : LayerBase(network, LayerType::kMOE, "MoE") { most_inputs = kInputs; }

  void setGatedWeights(ITensor& gate, ITensor& up, ITensor& down, MoEActType activation) noexcept override {
    if (take_enum(*this, "IMoELayer::setGatedWeights", "activation of experts", activation, &activation_))
      take_inputs("IMoELayer::setGatedWeights", kGateWeights, {&gate, &up, &down});
  }
  void setGatedBiases(ITensor& gate, ITensor& up, ITensor& down) noexcept override {
    take_inputs("IMoELayer::setGatedBiases", kGateBiases, {&gate, &up, &down});
  }
  void setActivationType(MoEActType activation) noexcept override {
    take_enum(*this, "IMoELayer::setActivationType", "activation of experts", activation, &activation_);
  }
  MoEActType getActivationType() const noexcept override { return activation_; }

  void setQuantizationStatic(ITensor& scale, DataType type) noexcept override {
    if (take_quantization("IMoELayer::setQuantizationStatic", type))
      take_inputs("IMoELayer::setQuantizationStatic", kDownScale, {&scale});
  }
  void setQuantizationDynamicDblQ(ITensor&, DataType, const ApiDims&, DataType) noexcept override {
    refuse("IMoELayer::setQuantizationDynamicDblQ", kNoDynamic);
  }
  void setQuantizationToType(DataType type) noexcept override {
    take_quantization("IMoELayer::setQuantizationToType", type);
  }
  DataType getQuantizationToType() const noexcept override { return quantized_; }
  void setQuantizationBlockShape(const ApiDims&) noexcept override {
    refuse("IMoELayer::setQuantizationBlockShape", kNoDynamic);
  }
  ApiDims getQuantizationBlockShape() const noexcept override { return {}; }
  void setDynQOutputScaleType(DataType) noexcept override { refuse("IMoELayer::setDynQOutputScaleType", kNoDynamic); }
  DataType getDynQOutputScaleType() const noexcept override { return DataType::kFLOAT; }

  void setSwigluParams(float limit, float alpha, float beta) noexcept override {
    setSwigluParamLimit(limit);
    setSwigluParamAlpha(alpha);
    setSwigluParamBeta(beta);
  }
  void setSwigluParamLimit(float limit) noexcept override {
    attempt(network().reporter(), "IMoELayer::setSwigluParamLimit", [&]() -> Status {
      if (!(limit > 0)) return invalid_argument("{}: a limit of {}, it must be above zero", place(), limit);
      limit_ = limit;
      changed();
      return Status();
    });
  }
  float getSwigluParamLimit() const noexcept override { return limit_; }
  WOOTZ_SETTING(float, SwigluParamAlpha, alpha_)
  WOOTZ_SETTING(float, SwigluParamBeta, beta_)
  void setInput(int32_t index, ITensor& tensor) noexcept override { layer_set_input(*this, index, tensor); }

  Status emit(Emit& e) override {
    for (const Input i : {kGateWeights, kUpWeights, kDownWeights})
      if (!e.has(i)) return e.fail("the experts have no weights: setGatedWeights() gives them");
    if (e.has(kGateBiases) != e.has(kUpBiases) || e.has(kGateBiases) != e.has(kDownBiases))
      return e.fail("the biases of gate, up and down go together");
    if (e.has(kDownScale) != (quantized_ == DataType::kFP8))
      return e.fail("a quantized input of the down product needs its type and a scale: setQuantizationStatic()");
    Value *const x = e.in(kStates), *const experts = e.in(kExperts);
    const auto product = [&](Value* rows, Input weights, Input bias) {
      std::vector<Value*> inputs{rows, experts, e.in(weights)};
      if (e.has(bias)) inputs.push_back(e.in(bias));
      return e.op("ExpertProduct", std::move(inputs));
    };
    Value* const gate = product(x, kGateWeights, kGateBiases);
    Value* const inner = quantize(e, activate(e, gate, product(x, kUpWeights, kUpBiases)), experts);
    Value* const each = product(inner, kDownWeights, kDownBiases);
    if (e.failed()) return e.status();
    Value* const scores = e.unsqueeze(e.cast(e.in(kScores), each->dtype()), {e.in(kScores)->rank()});
    e.out(0, e.reduce("sum", e.mul(each, scores), {each->rank() - 2}, false));
    return e.status();
  }

 private:
  static constexpr const char* kNoDynamic =
      "scales of the down product's input that inference finds are not offered: setQuantizationStatic() takes known "
      "ones";

  void refuse(const char* call, const char* why) const noexcept {
    attempt(network().reporter(), call, [&] { return unsupported("{}: {}", place(), why); });
  }
  void take_inputs(const char* call, int32_t first, std::initializer_list<ITensor*> tensors) noexcept {
    attempt(network().reporter(), call, [&]() -> Status {
      for (const ITensor* tensor : tensors) WOOTZ_RETURN_IF_ERROR(network().own(tensor).status());  // all or none
      int32_t index = first;
      for (ITensor* tensor : tensors) WOOTZ_RETURN_IF_ERROR(replace_input(index++, *tensor));
      return Status();
    });
  }
  bool take_quantization(const char* call, DataType type) noexcept {
    return attempt(network().reporter(), call, [&]() -> Status {
      if (type != DataType::kFP8)
        return unsupported("{}: the down product's input quantized to type {}; kFP8 is offered", place(),
                           static_cast<int>(type));
      quantized_ = type;
      changed();
      return Status();
    });
  }

  // In f32, whatever the products' type is: it is one expression.
  Value* activate(Emit& e, Value* gate, Value* up) const {
    if (e.failed()) return nullptr;
    const DType type = gate->dtype();
    const auto number = [&](float value) { return e.scalar(DType::kF32, value); };
    gate = e.cast(gate, DType::kF32);
    up = e.cast(up, DType::kF32);
    if (std::isfinite(limit_)) {
      gate = e.op("Min", {gate, number(limit_)});
      up = e.op("Clip", {up, number(-limit_), number(limit_)});
    }
    if (beta_ != 0) up = e.add(up, number(beta_));
    Value* active = gate;
    if (activation_ == MoEActType::kSILU)
      active = e.mul(gate, e.op("Sigmoid", {alpha_ == 1 ? gate : e.mul(gate, number(alpha_))}));
    return e.cast(e.mul(active, up), type);
  }

  // Rounded to what the type and the scale can say; a scale for all, or one for each expert.
  Value* quantize(Emit& e, Value* inner, Value* experts) const {
    if (!e.has(kDownScale) || e.failed()) return inner;
    const DType type = inner->dtype();
    Value* scale = e.cast(e.in(kDownScale), DType::kF32);
    if (scale->rank() > 0)
      scale = e.unsqueeze(e.op("Gather", {scale, experts}, {{"axis", int64_t{0}}}), {experts->rank()});
    Value* const rounded = e.op("Quantize", {inner, scale}, {{"to", std::string(dtype_name(from_api(quantized_)))}});
    return e.op("Dequantize", {rounded, scale}, {{"to", std::string(dtype_name(type))}});
  }

  MoEActType activation_ = MoEActType::kNONE;
  DataType quantized_ = DataType::kFLOAT;
  float limit_ = std::numeric_limits<float>::infinity(), alpha_ = 1, beta_ = 0;
};

}  // namespace

IMoELayer* NetworkImpl::addMoE(ITensor& hiddenStates, ITensor& selectedExpertsForTokens,
                               ITensor& scoresForSelectedExperts) noexcept {
  return add_or_null<IMoELayer>(*this, "INetworkDefinition::addMoE", [&]() -> Result<IMoELayer*> {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs,
                           own({&hiddenStates, &selectedExpertsForTokens, &scoresForSelectedExperts}));
    return add_layer<MoELayer>(std::move(inputs), 1);
  });
}

}  // namespace wootz::api
