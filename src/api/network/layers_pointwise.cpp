// Activation, unary, element-wise, select, parametric ReLU, cast, identity.
#include "api/network/add.h"
#include "api/network/adopt.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: implements that interface, line by line

namespace {

class ActivationLayer final : public LayerBase<IActivationLayer> {
 public:
  ActivationLayer(NetworkImpl& network, ActivationType type)
      : LayerBase(network, LayerType::kACTIVATION, "Activation"), function_(type) {}
  void setActivationType(ActivationType type) noexcept override {
    take_enum(*this, "IActivationLayer::setActivationType", "activation type", type, &function_);
  }
  ActivationType getActivationType() const noexcept override { return function_; }
  WOOTZ_SETTING(float, Alpha, alpha_)
  WOOTZ_SETTING(float, Beta, beta_)
  void adopt(double alpha, double beta) {
    alpha_ = static_cast<float>(alpha);
    beta_ = static_cast<float>(beta);
  }

  Status emit(Emit& e) override {
    Value* x = e.in(0);
    const DType type = x->dtype();
    const double a = alpha_, b = beta_;
    const auto times = [&](Value* v, double factor) {
      return factor == 1 ? v : e.op("Mul", {v, e.scalar(type, factor)});
    };
    const auto with = [&](const char* op, AttrMap attrs = {}) { return e.op(op, {x}, std::move(attrs)); };
    switch (function_) {
      case ActivationType::kRELU: e.out(0, with("Relu")); break;
      case ActivationType::kSIGMOID: e.out(0, with("Sigmoid")); break;
      case ActivationType::kTANH: e.out(0, with("Tanh")); break;
      case ActivationType::kLEAKY_RELU: e.out(0, with("LeakyRelu", {{"alpha", a}})); break;
      case ActivationType::kELU: e.out(0, with("Elu", {{"alpha", a}})); break;
      case ActivationType::kSELU: e.out(0, with("Selu", {{"alpha", a}, {"gamma", b}})); break;
      case ActivationType::kSOFTSIGN: e.out(0, with("Softsign")); break;
      case ActivationType::kSOFTPLUS: e.out(0, times(e.op("Softplus", {times(x, b)}), a)); break;
      case ActivationType::kCLIP: e.out(0, with("Clip", {{"min", a}, {"max", b}})); break;
      case ActivationType::kHARD_SIGMOID: e.out(0, with("HardSigmoid", {{"alpha", a}, {"beta", b}})); break;
      case ActivationType::kSCALED_TANH: e.out(0, times(e.op("Tanh", {times(x, b)}), a)); break;
      case ActivationType::kTHRESHOLDED_RELU: e.out(0, with("ThresholdedRelu", {{"alpha", a}})); break;
      case ActivationType::kGELU_ERF: e.out(0, with("Gelu")); break;
      case ActivationType::kGELU_TANH: e.out(0, with("Gelu", {{"approximate", std::string("tanh")}})); break;
    }
    return e.status();
  }

 private:
  ActivationType function_;
  float alpha_ = 0, beta_ = 0;
};

constexpr const char* kUnaryOps[] = {"Exp",   "Log",  "Sqrt", "Reciprocal", "Abs",   "Neg",   "Sin",   "Cos",   "Tan",
                                     "Sinh",  "Cosh", "Asin", "Acos",       "Atan",  "Asinh", "Acosh", "Atanh", "Ceil",
                                     "Floor", "Erf",  "Not",  "Sign",       "Round", "IsInf", "IsNaN"};
static_assert(static_cast<int32_t>(std::size(kUnaryOps)) == EnumMax<UnaryOperation>());

class UnaryLayer final : public LayerBase<IUnaryLayer> {
 public:
  UnaryLayer(NetworkImpl& network, UnaryOperation operation)
      : LayerBase(network, LayerType::kUNARY, "Unary"), operation_(operation) {}
  void setOperation(UnaryOperation op) noexcept override {
    take_enum(*this, "IUnaryLayer::setOperation", "unary operation", op, &operation_);
  }
  UnaryOperation getOperation() const noexcept override { return operation_; }
  Status emit(Emit& e) override {
    e.out(0, e.op(kUnaryOps[static_cast<size_t>(operation_)], {e.in(0)}));
    return e.status();
  }

 private:
  UnaryOperation operation_;
};

// By ElementWiseOperation; kFLOOR_DIV is composed.
constexpr const char* kBinaryOps[] = {"Add", "Mul", "Max", "Min", "Sub",   "Div",     "Pow",
                                      "",    "And", "Or",  "Xor", "Equal", "Greater", "Less"};
static_assert(static_cast<int32_t>(std::size(kBinaryOps)) == EnumMax<ElementWiseOperation>());

class ElementWiseLayer final : public LayerBase<IElementWiseLayer> {
 public:
  ElementWiseLayer(NetworkImpl& network, ElementWiseOperation op)
      : LayerBase(network, LayerType::kELEMENTWISE, "ElementWise"), operation_(op) {}
  void setOperation(ElementWiseOperation op) noexcept override {
    take_enum(*this, "IElementWiseLayer::setOperation", "element-wise operation", op, &operation_);
  }
  ElementWiseOperation getOperation() const noexcept override { return operation_; }
  void allow_any_ranks() { any_ranks_ = true; }  // ONNX stretches lower ranks too
  Status emit(Emit& e) override {
    Value *a = e.in(0), *b = e.in(1);
    if (a->rank() != b->rank() && !any_ranks_)
      return e.fail("the inputs have ranks {} and {} ({} and {}); they must be equal", a->rank(), b->rank(),
                    shape_to_string(a->shape()), shape_to_string(b->shape()));
    if (operation_ != ElementWiseOperation::kFLOOR_DIV)
      e.out(0, e.op(kBinaryOps[static_cast<size_t>(operation_)], {a, b}));
    else if (is_float(a->dtype()))
      e.out(0, e.op("Floor", {e.op("Div", {a, b})}));
    else  // Mod has the divisor's sign, which makes the quotient exact
      e.out(0, e.op("Div", {e.op("Sub", {a, e.op("Mod", {a, b})}), b}));
    return e.status();
  }

 private:
  ElementWiseOperation operation_;
  bool any_ranks_ = false;
};

class SelectLayer final : public LayerBase<ISelectLayer> {
 public:
  explicit SelectLayer(NetworkImpl& network) : LayerBase(network, LayerType::kSELECT, "Select") {}
  Status emit(Emit& e) override {
    e.out(0, e.op("Where", {e.in(0), e.in(1), e.in(2)}));
    return e.status();
  }
};

class ParametricReLULayer final : public LayerBase<IParametricReLULayer> {
 public:
  explicit ParametricReLULayer(NetworkImpl& network)
      : LayerBase(network, LayerType::kPARAMETRIC_RELU, "ParametricReLU") {}
  Status emit(Emit& e) override {
    e.out(0, e.op("PRelu", {e.in(0), e.in(1)}));
    return e.status();
  }
};

class CastLayer final : public LayerBase<ICastLayer> {
 public:
  CastLayer(NetworkImpl& network, DataType to) : LayerBase(network, LayerType::kCAST, "Cast"), to_(to) {}
  void setToType(DataType toType) noexcept override {
    attempt(network().reporter(), "ICastLayer::setToType", [&]() -> Status {
      WOOTZ_RETURN_IF_ERROR(check_type(toType));
      to_ = toType;
      changed();
      return Status();
    });
  }
  DataType getToType() const noexcept override { return to_; }
  Status emit(Emit& e) override {
    e.out(0, e.op("Cast", {e.in(0)}, {{"to", std::string(dtype_name(from_api(to_)))}}));
    return e.status();
  }

 private:
  DataType to_;
};

class IdentityLayer final : public LayerBase<IIdentityLayer> {
 public:
  explicit IdentityLayer(NetworkImpl& network) : LayerBase(network, LayerType::kIDENTITY, "Identity") {}
  Status emit(Emit& e) override {
    e.out(0, e.op("Identity", {e.in(0)}));
    return e.status();
  }
};

struct ActivationOp {
  const char* op;
  ActivationType type;
  const char* alpha;
  double alpha_default;
  const char* beta;
  double beta_default;
};
constexpr ActivationOp kActivationOps[] = {
    {"Relu", ActivationType::kRELU, nullptr, 0, nullptr, 0},
    {"Sigmoid", ActivationType::kSIGMOID, nullptr, 0, nullptr, 0},
    {"Tanh", ActivationType::kTANH, nullptr, 0, nullptr, 0},
    {"LeakyRelu", ActivationType::kLEAKY_RELU, "alpha", 0.01, nullptr, 0},
    {"Elu", ActivationType::kELU, "alpha", 1, nullptr, 0},
    {"Selu", ActivationType::kSELU, "alpha", 1.67326319217681884765625, "gamma", 1.05070102214813232421875},
    {"Softsign", ActivationType::kSOFTSIGN, nullptr, 0, nullptr, 0},
    {"Softplus", ActivationType::kSOFTPLUS, nullptr, 1, nullptr, 1},
    {"HardSigmoid", ActivationType::kHARD_SIGMOID, "alpha", 0.2, "beta", 0.5},
    {"ThresholdedRelu", ActivationType::kTHRESHOLDED_RELU, "alpha", 1, nullptr, 0},
};

}  // namespace

LayerCore* adopt_pointwise(const AdoptContext& c) {
  for (const ActivationOp& entry : kActivationOps) {
    if (!c.node.is(entry.op)) continue;
    auto* layer = c.network.add_layer<ActivationLayer>(c.inputs, 1, entry.type);
    layer->adopt(entry.alpha == nullptr ? entry.alpha_default : c.node.attr_float(entry.alpha, entry.alpha_default),
                 entry.beta == nullptr ? entry.beta_default : c.node.attr_float(entry.beta, entry.beta_default));
    return layer;
  }
  if (c.node.is("Gelu")) {
    const bool tanh = c.node.attr_string("approximate", "none") == "tanh";
    return c.network.add_layer<ActivationLayer>(c.inputs, 1,
                                                tanh ? ActivationType::kGELU_TANH : ActivationType::kGELU_ERF);
  }
  for (size_t i = 0; i < std::size(kUnaryOps); ++i)
    if (c.node.is(kUnaryOps[i]) && c.node.attrs().empty())
      return c.network.add_layer<UnaryLayer>(c.inputs, 1, static_cast<UnaryOperation>(i));
  for (size_t i = 0; i < std::size(kBinaryOps); ++i)
    if (c.node.is(kBinaryOps[i])) {
      auto* layer = c.network.add_layer<ElementWiseLayer>(c.inputs, 1, static_cast<ElementWiseOperation>(i));
      layer->allow_any_ranks();
      return layer;
    }
  if (c.node.is("Where")) return c.network.add_layer<SelectLayer>(c.inputs, 1);
  if (c.node.is("PRelu")) return c.network.add_layer<ParametricReLULayer>(c.inputs, 1);
  if (c.node.is("Identity")) return c.network.add_layer<IdentityLayer>(c.inputs, 1);
  if (c.node.is("Cast")) return c.network.add_layer<CastLayer>(c.inputs, 1, to_api(c.node.attr_dtype("to")));
  return nullptr;
}

IActivationLayer* NetworkImpl::addActivation(ITensor& input, ActivationType type) noexcept {
  return add_or_null<IActivationLayer>(*this, "INetworkDefinition::addActivation", [&]() -> Result<IActivationLayer*> {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&input}));
    WOOTZ_RETURN_IF_ERROR(check_enum(type, "activation type"));
    return add_layer<ActivationLayer>(std::move(inputs), 1, type);
  });
}

IUnaryLayer* NetworkImpl::addUnary(ITensor& input, UnaryOperation operation) noexcept {
  return add_or_null<IUnaryLayer>(*this, "INetworkDefinition::addUnary", [&]() -> Result<IUnaryLayer*> {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&input}));
    WOOTZ_RETURN_IF_ERROR(check_enum(operation, "unary operation"));
    return add_layer<UnaryLayer>(std::move(inputs), 1, operation);
  });
}

IElementWiseLayer* NetworkImpl::addElementWise(ITensor& input1, ITensor& input2, ElementWiseOperation op) noexcept {
  return add_or_null<IElementWiseLayer>(
      *this, "INetworkDefinition::addElementWise", [&]() -> Result<IElementWiseLayer*> {
        WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&input1, &input2}));
        WOOTZ_RETURN_IF_ERROR(check_enum(op, "element-wise operation"));
        return add_layer<ElementWiseLayer>(std::move(inputs), 1, op);
      });
}

ISelectLayer* NetworkImpl::addSelect(ITensor& condition, ITensor& thenInput, ITensor& elseInput) noexcept {
  return add_or_null<ISelectLayer>(*this, "INetworkDefinition::addSelect", [&]() -> Result<ISelectLayer*> {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&condition, &thenInput, &elseInput}));
    return add_layer<SelectLayer>(std::move(inputs), 1);
  });
}

IParametricReLULayer* NetworkImpl::addParametricReLU(ITensor& input, ITensor& slope) noexcept {
  return add_or_null<IParametricReLULayer>(
      *this, "INetworkDefinition::addParametricReLU", [&]() -> Result<IParametricReLULayer*> {
        WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&input, &slope}));
        return add_layer<ParametricReLULayer>(std::move(inputs), 1);
      });
}

ICastLayer* NetworkImpl::addCast(ITensor& input, DataType toType) noexcept {
  return add_or_null<ICastLayer>(*this, "INetworkDefinition::addCast", [&]() -> Result<ICastLayer*> {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&input}));
    WOOTZ_RETURN_IF_ERROR(check_type(toType));
    return add_layer<CastLayer>(std::move(inputs), 1, toType);
  });
}

IIdentityLayer* NetworkImpl::addIdentity(ITensor& input) noexcept {
  return add_or_null<IIdentityLayer>(*this, "INetworkDefinition::addIdentity", [&]() -> Result<IIdentityLayer*> {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&input}));
    return add_layer<IdentityLayer>(std::move(inputs), 1);
  });
}

}  // namespace wootz::api
