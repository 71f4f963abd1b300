// Constants, fills, assertions.
#include "api/network/add.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: implements that interface, line by line

namespace {

class ConstantLayer final : public LayerBase<IConstantLayer> {
 public:
  ConstantLayer(NetworkImpl& network, const ApiDims& dims, Weights weights)
      : LayerBase(network, LayerType::kCONSTANT, "Constant"), dims_(dims), weights_(weights) {}
  WOOTZ_SETTING(Weights, Weights, weights_)
  WOOTZ_DIMS_SETTING(Dimensions, dims_)
  void collect_weights(std::vector<Weights>* weights) const override { weights->push_back(weights_); }
  Status emit(Emit& e) override {
    WOOTZ_ASSIGN_OR_RETURN(const Dims dims, from_api(dims_, 0));
    e.out(0, e.weights(weights_, dims, "weights", WeightsRole::kCONSTANT));
    return e.status();
  }

 private:
  ApiDims dims_;
  Weights weights_;
};

class FillLayer final : public LayerBase<IFillLayer> {
 public:
  FillLayer(NetworkImpl& network, const ApiDims& dims, FillOperation op, DataType type)
      : LayerBase(network, LayerType::kFILL, "Fill"), dims_(dims), operation_(op), type_(type) {
    most_inputs = 3;
    alpha_ = 0;
    beta_ = 1;
  }
  WOOTZ_DIMS_SETTING(Dimensions, dims_)
  void setOperation(FillOperation op) noexcept override {
    take_enum(*this, "IFillLayer::setOperation", "fill operation", op, &operation_);
  }
  FillOperation getOperation() const noexcept override { return operation_; }
  void setAlpha(double alpha) noexcept override {
    take(alpha, static_cast<int64_t>(alpha), false, &alpha_, &alpha_int_);
  }
  double getAlpha() const noexcept override { return alpha_; }
  void setBeta(double beta) noexcept override { take(beta, static_cast<int64_t>(beta), false, &beta_, &beta_int_); }
  double getBeta() const noexcept override { return beta_; }
  void setAlphaInt64(int64_t alpha) noexcept override {
    take(static_cast<double>(alpha), alpha, true, &alpha_, &alpha_int_);
  }
  int64_t getAlphaInt64() const noexcept override { return alpha_int_; }
  void setBetaInt64(int64_t beta) noexcept override { take(static_cast<double>(beta), beta, true, &beta_, &beta_int_); }
  int64_t getBetaInt64() const noexcept override { return beta_int_; }
  bool isAlphaBetaInt64() const noexcept override { return ints_; }
  WOOTZ_SETTING(DataType, ToType, type_)

  Status emit(Emit& e) override {
    if (e.has(1) != e.has(2)) return e.fail("inputs 1 and 2 go together");
    if (operation_ == FillOperation::kLINSPACE) return linspace(e);
    return random(e);
  }

 private:
  void take(double value, int64_t as_int, bool ints, double* member, int64_t* member_int) noexcept {
    *member = value;
    *member_int = as_int;
    ints_ = ints;
    changed();
  }

  // What parameters scale that come as inputs is drawn from [0, 1), or with mean 0 and deviation 1.
  Status random(Emit& e) {
    WOOTZ_ASSIGN_OR_RETURN([[maybe_unused]] const Dims dims, from_api(dims_, 0));
    const bool uniform = operation_ == FillOperation::kRANDOM_UNIFORM, given = e.has(1);
    const DType type = from_api(type_);
    AttrMap attrs{{"distribution", std::string(uniform ? "uniform" : "normal")},
                  {"dtype", std::string(dtype_name(type))}};
    attrs.emplace(uniform ? "low" : "mean", given ? 0 : alpha_);
    attrs.emplace(uniform ? "high" : "scale", given ? 1 : beta_);
    if (!e.has(0)) attrs.emplace("shape", to_vector(dims_));
    std::vector<Value*> inputs{e.op("RandomState", {})};
    if (e.has(0)) inputs.push_back(e.op("ConstantOfShape", {e.cast(e.in(0), DType::kI64)}, {}));
    Value* drawn = e.op("Random", std::move(inputs), std::move(attrs));
    if (given) {
      Value *a = e.cast(e.in(1), type), *b = e.cast(e.in(2), type);
      drawn = e.op("Add", {a, e.op("Mul", {drawn, uniform ? e.op("Sub", {b, a}) : b})});
    }
    e.out(0, drawn);
    return e.status();
  }

  // alpha + the sum over axes of position * beta of the axis; computed in i64, or f32 for floats.
  Status linspace(Emit& e) {
    const DType type = from_api(type_), work = is_float(type) ? DType::kF32 : DType::kI64;
    Value* extents = nullptr;
    int64_t rank = dims_.nbDims;
    if (e.has(0)) {
      extents = e.cast(e.in(0), DType::kI64);
      if (extents == nullptr || extents->rank() != 1 || !extents->shape()[0].is_const())
        return e.fail("the extents, input 0, must be a list of known length");
      rank = extents->shape()[0].value();
    }
    if (rank < 0 || rank > limits::kMaxRank) return e.fail("{} dimensions", rank);
    Value* alpha = e.has(1) ? e.cast(e.in(1), work) : e.scalar(work, ints_ ? static_cast<double>(alpha_int_) : alpha_);
    Value* beta = e.has(2) ? e.cast(e.in(2), work) : e.scalar(work, ints_ ? static_cast<double>(beta_int_) : beta_);
    if (e.failed()) return e.status();
    if (rank > 1 && (beta->rank() != 1 || !(beta->shape()[0] == Dim(rank))))
      return e.fail("{} dimensions need one step for each, input 2 is {}", rank, shape_to_string(beta->shape()));
    Value* sum = alpha;
    for (int64_t a = 0; a < rank && !e.failed(); ++a) {
      Value* extent = extents == nullptr ? e.scalar(DType::kI64, static_cast<double>(dims_.d[a]))
                                         : e.op("Gather", {extents, e.scalar(DType::kI64, static_cast<double>(a))},
                                                {{"axis", int64_t{0}}});
      Value* at = e.cast(e.op("Range", {e.scalar(DType::kI64, 0), extent, e.scalar(DType::kI64, 1)}), work);
      Value* step = rank > 1 || beta->rank() == 1
                        ? e.op("Gather", {beta, e.scalar(DType::kI64, static_cast<double>(a))}, {{"axis", int64_t{0}}})
                        : beta;
      Value* along = e.op("Mul", {at, step});
      std::vector<int64_t> after;  // the axes after this one
      for (int64_t b = a + 1; b < rank; ++b) after.push_back(b - a);
      if (!after.empty()) along = e.unsqueeze(along, after);
      sum = e.op("Add", {sum, along});
    }
    if (rank == 0) sum = e.reshape(sum, {});
    e.out(0, e.cast(sum, type));
    return e.status();
  }

  ApiDims dims_;
  FillOperation operation_;
  DataType type_;
  double alpha_, beta_;
  int64_t alpha_int_ = 0, beta_int_ = 1;
  bool ints_ = false;
};

class AssertionLayer final : public LayerBase<IAssertionLayer> {
 public:
  AssertionLayer(NetworkImpl& network, std::string message)
      : LayerBase(network, LayerType::kASSERTION, "Assertion"), message_(std::move(message)) {}
  bool has_effects() const override { return true; }
  void setMessage(const char* message) noexcept override {
    attempt(network().reporter(), "IAssertionLayer::setMessage", [&]() -> Status {
      message_ = message == nullptr ? "" : message;
      changed();
      return Status();
    });
  }
  const char* getMessage() const noexcept override { return message_.c_str(); }
  Status emit(Emit& e) override {
    const Value* condition = e.in(0);
    if (condition->dtype() != DType::kBool) return e.fail("the condition is {}", dtype_name(condition->dtype()));
    e.op("Assert", {e.in(0)}, {{"message", fmt::format("{}: the assertion does not hold: {}", place(), message_)}});
    return e.status();
  }

 private:
  std::string message_;
};

}  // namespace

IConstantLayer* NetworkImpl::addConstant(const ApiDims& dimensions, Weights weights) noexcept {
  return add_or_null<IConstantLayer>(*this, "INetworkDefinition::addConstant", [&]() -> Result<IConstantLayer*> {
    WOOTZ_ASSIGN_OR_RETURN(const Dims dims, from_api(dimensions, 0));
    WOOTZ_RETURN_IF_ERROR(check_type(weights.type));
    WOOTZ_ASSIGN_OR_RETURN(const int64_t count, checked_volume(dims.span()));
    if (weights.count != count || (weights.values == nullptr && count > 0))
      return invalid_argument("{} values at {} for shape {}", weights.count, weights.values, dims.to_string());
    return add_layer<ConstantLayer>({}, 1, dimensions, weights);
  });
}

IFillLayer* NetworkImpl::addFill(const ApiDims& dimensions, FillOperation op, DataType outputType) noexcept {
  return add_or_null<IFillLayer>(*this, "INetworkDefinition::addFill", [&]() -> Result<IFillLayer*> {
    WOOTZ_RETURN_IF_ERROR(check_enum(op, "fill operation"));
    WOOTZ_RETURN_IF_ERROR(check_type(outputType));
    return add_layer<FillLayer>({}, 1, dimensions, op, outputType);
  });
}

IFillLayer* NetworkImpl::addFill(const ApiDims& dimensions, FillOperation op) noexcept {
  return addFill(dimensions, op, DataType::kFLOAT);
}

IAssertionLayer* NetworkImpl::addAssertion(ITensor& condition, const char* message) noexcept {
  return add_or_null<IAssertionLayer>(*this, "INetworkDefinition::addAssertion", [&]() -> Result<IAssertionLayer*> {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&condition}));
    return add_layer<AssertionLayer>(std::move(inputs), 0, std::string(message == nullptr ? "" : message));
  });
}

}  // namespace wootz::api
