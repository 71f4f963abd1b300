// Reductions, top-k, running sums, matrix products, einsum.
#include "api/network/add.h"
#include "api/network/adopt.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: implements that interface, line by line

namespace {

constexpr const char* kReduceKinds[] = {"sum", "prod", "max", "min", "mean"};  // by ReduceOperation; kNONE is none

Status check_reduce(ReduceOperation op) {
  WOOTZ_RETURN_IF_ERROR(check_enum(op, "reduction"));
  return op == ReduceOperation::kNONE ? invalid_argument("ReduceOperation::kNONE is for collective operations")
                                      : Status();
}

class ReduceLayer final : public LayerBase<IReduceLayer> {
 public:
  ReduceLayer(NetworkImpl& network, ReduceOperation op, uint32_t axes, bool keep)
      : LayerBase(network, LayerType::kREDUCE, "Reduce"), operation_(op), axes_(axes), keep_(keep) {}
  void setOperation(ReduceOperation op) noexcept override {
    attempt(network().reporter(), "IReduceLayer::setOperation", [&]() -> Status {
      if (Status status = check_reduce(op); !status.ok()) return status.with_prefix(place());
      operation_ = op;
      changed();
      return Status();
    });
  }
  ReduceOperation getOperation() const noexcept override { return operation_; }
  WOOTZ_SETTING(uint32_t, ReduceAxes, axes_)
  WOOTZ_SETTING(bool, KeepDimensions, keep_)
  Status emit(Emit& e) override {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<int64_t> axes, axes_of(axes_, e.in(0)->rank()));
    if (axes.empty()) return e.fail("no axes to reduce over");
    e.out(0, e.op("Reduce", {e.in(0)},
                  {{"kind", std::string(kReduceKinds[static_cast<size_t>(operation_)])},
                   {"axes", std::move(axes)},
                   {"keepdims", int64_t{keep_}}}));
    return e.status();
  }

 private:
  ReduceOperation operation_;
  uint32_t axes_;
  bool keep_;
};

Status check_indices_type(DataType type) {
  return type == DataType::kINT32 || type == DataType::kINT64
             ? Status()
             : invalid_argument("indices of type {}; kINT32 and kINT64 are possible", static_cast<int>(type));
}

class TopKLayer final : public LayerBase<ITopKLayer> {
 public:
  TopKLayer(NetworkImpl& network, TopKOperation op, int32_t k, uint32_t axes, DataType indices)
      : LayerBase(network, LayerType::kTOPK, "TopK"), operation_(op), k_(k), axes_(axes), indices_(indices) {
    most_inputs = 2;
  }
  void setOperation(TopKOperation op) noexcept override {
    take_enum(*this, "ITopKLayer::setOperation", "operation", op, &operation_);
  }
  TopKOperation getOperation() const noexcept override { return operation_; }
  WOOTZ_SETTING(int32_t, K, k_)
  WOOTZ_SETTING(uint32_t, ReduceAxes, axes_)
  bool setIndicesType(DataType type) noexcept override {
    return attempt(network().reporter(), "ITopKLayer::setIndicesType", [&]() -> Status {
      if (Status status = check_indices_type(type); !status.ok()) return status.with_prefix(place());
      indices_ = type;
      changed();
      return Status();
    });
  }
  DataType getIndicesType() const noexcept override { return indices_; }
  Status emit(Emit& e) override {
    WOOTZ_ASSIGN_OR_RETURN(const int axis, single_axis(axes_, e.in(0)->rank()));
    AttrMap attrs{
        {"axis", int64_t{axis}}, {"largest", int64_t{operation_ == TopKOperation::kMAX}}, {"sorted", int64_t{1}}};
    std::vector<Value*> inputs{e.in(0)};
    if (e.has(1))
      inputs.push_back(e.cast(e.in(1), DType::kI64));
    else
      attrs.emplace("k", int64_t{k_});
    const Node* node = e.node("TopK", std::move(inputs), std::move(attrs), 2);
    if (node == nullptr) return e.status();
    e.out(0, node->output(0));
    e.out(1, e.cast(node->output(1), from_api(indices_)));
    return e.status();
  }

 private:
  TopKOperation operation_;
  int32_t k_;
  uint32_t axes_;
  DataType indices_;
};

class CumulativeLayer final : public LayerBase<ICumulativeLayer> {
 public:
  CumulativeLayer(NetworkImpl& network, CumulativeOperation op, bool exclusive, bool reverse)
      : LayerBase(network, LayerType::kCUMULATIVE, "Cumulative"),
        operation_(op),
        exclusive_(exclusive),
        reverse_(reverse) {}
  bool setOperation(CumulativeOperation op) noexcept override {
    return take_enum(*this, "ICumulativeLayer::setOperation", "operation", op, &operation_);
  }
  CumulativeOperation getOperation() const noexcept override { return operation_; }
  WOOTZ_SETTING(bool, Exclusive, exclusive_)
  WOOTZ_SETTING(bool, Reverse, reverse_)
  Status emit(Emit& e) override {
    const Value* axis = e.in(1);
    if (!axis->is_constant() || axis->constant().volume() != 1 || !is_integer(axis->dtype()))
      return e.fail("the axis, input 1, must be a constant integer");
    e.out(0, e.op("CumSum", {e.in(0)},
                  {{"axis", axis->constant().get_i64(0)},
                   {"exclusive", int64_t{exclusive_}},
                   {"reverse", int64_t{reverse_}}}));
    return e.status();
  }

 private:
  CumulativeOperation operation_;
  bool exclusive_, reverse_;
};

class MatrixMultiplyLayer final : public LayerBase<IMatrixMultiplyLayer> {
 public:
  MatrixMultiplyLayer(NetworkImpl& network, MatrixOperation a, MatrixOperation b)
      : LayerBase(network, LayerType::kMATRIX_MULTIPLY, "MatrixMultiply"), operations_{a, b} {}
  void setOperation(int32_t index, MatrixOperation op) noexcept override {
    attempt(network().reporter(), "IMatrixMultiplyLayer::setOperation", [&]() -> Status {
      if (index < 0 || index > 1) return invalid_argument("{}: there is no operand {}", place(), index);
      if (Status status = check_enum(op, "matrix operation"); !status.ok()) return status.with_prefix(place());
      operations_[index] = op;
      changed();
      return Status();
    });
  }
  MatrixOperation getOperation(int32_t index) const noexcept override { return operations_[index == 1 ? 1 : 0]; }
  Status emit(Emit& e) override {
    std::vector<Value*> operands;
    for (size_t i = 0; i < 2; ++i) {
      const bool vector = operations_[i] == MatrixOperation::kVECTOR;
      const int rank = e.in(i)->rank();
      if (rank < (vector ? 1 : 2))
        return e.fail("operand {} of shape {} is no {}", i, shape_to_string(e.in(i)->shape()),
                      vector ? "vector" : "matrix");
      // A row on the left, a column on the right.
      operands.push_back(vector ? e.unsqueeze(e.in(i), {i == 0 ? rank - 1 : rank}) : e.in(i));
    }
    Value* y = e.op("MatMul", operands,
                    {{"trans_a", int64_t{operations_[0] == MatrixOperation::kTRANSPOSE}},
                     {"trans_b", int64_t{operations_[1] == MatrixOperation::kTRANSPOSE}}});
    if (e.failed()) return e.status();
    std::vector<int64_t> gone;
    if (operations_[0] == MatrixOperation::kVECTOR) gone.push_back(y->rank() - 2);
    if (operations_[1] == MatrixOperation::kVECTOR) gone.push_back(y->rank() - 1);
    e.out(0, gone.empty() ? y : e.squeeze(y, gone));
    return e.status();
  }

 private:
  MatrixOperation operations_[2];
};

class EinsumLayer final : public LayerBase<IEinsumLayer> {
 public:
  EinsumLayer(NetworkImpl& network, std::string equation)
      : LayerBase(network, LayerType::kEINSUM, "Einsum"), equation_(std::move(equation)) {}
  bool setEquation(const char* equation) noexcept override {
    return attempt(network().reporter(), "IEinsumLayer::setEquation", [&]() -> Status {
      if (equation == nullptr) return invalid_argument("{}: the equation is null", place());
      equation_ = equation;
      changed();
      return Status();
    });
  }
  const char* getEquation() const noexcept override { return equation_.c_str(); }
  Status emit(Emit& e) override {
    std::vector<Value*> values;
    for (size_t i = 0; i < inputs.size(); ++i) values.push_back(e.in(i));
    e.out(0, e.op("Einsum", std::move(values), {{"equation", equation_}}));
    return e.status();
  }

 private:
  std::string equation_;
};

}  // namespace

LayerCore* adopt_reduce(const AdoptContext& c) {
  if (!c.node.is("Reduce") || c.inputs.size() != 1 || !c.node.has_attr("axes")) return nullptr;
  const std::string kind = c.node.attr_string("kind");
  uint32_t axes = 0;
  for (const int64_t axis : c.node.attr_ints("axes")) {
    const Result<int> a = normalize_axis(axis, c.node.input(0)->rank());
    if (!a.ok()) return nullptr;
    axes |= 1U << *a;
  }
  for (size_t i = 0; i < std::size(kReduceKinds); ++i)
    if (kind == kReduceKinds[i] && axes != 0)
      return c.network.add_layer<ReduceLayer>(c.inputs, 1, static_cast<ReduceOperation>(i), axes,
                                              c.node.attr_int("keepdims", 1) != 0);
  return nullptr;
}

LayerCore* adopt_matrix(const AdoptContext& c) {
  if (!c.node.is("MatMul") || c.inputs.size() != 2 || c.node.has_attr("x_scale")) return nullptr;
  if (c.node.input(0)->rank() < 2 || c.node.input(1)->rank() < 2) return nullptr;
  const auto operation = [&](const char* attr) {
    return c.node.attr_int(attr) != 0 ? MatrixOperation::kTRANSPOSE : MatrixOperation::kNONE;
  };
  return c.network.add_layer<MatrixMultiplyLayer>(c.inputs, 1, operation("trans_a"), operation("trans_b"));
}

IReduceLayer* NetworkImpl::addReduce(ITensor& input, ReduceOperation operation, uint32_t reduceAxes,
                                     bool keepDimensions) noexcept {
  return add_or_null<IReduceLayer>(*this, "INetworkDefinition::addReduce", [&]() -> Result<IReduceLayer*> {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&input}));
    WOOTZ_RETURN_IF_ERROR(check_reduce(operation));
    return add_layer<ReduceLayer>(std::move(inputs), 1, operation, reduceAxes, keepDimensions);
  });
}

ITopKLayer* NetworkImpl::addTopK(ITensor& input, TopKOperation op, int32_t k, uint32_t reduceAxes,
                                 DataType indicesType) noexcept {
  return add_or_null<ITopKLayer>(*this, "INetworkDefinition::addTopK", [&]() -> Result<ITopKLayer*> {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&input}));
    WOOTZ_RETURN_IF_ERROR(check_enum(op, "operation"));
    WOOTZ_RETURN_IF_ERROR(check_indices_type(indicesType));
    if (k < 0) return invalid_argument("k is {}", k);
    return add_layer<TopKLayer>(std::move(inputs), 2, op, k, reduceAxes, indicesType);
  });
}

ITopKLayer* NetworkImpl::addTopK(ITensor& input, TopKOperation op, int32_t k, uint32_t reduceAxes) noexcept {
  return addTopK(input, op, k, reduceAxes, DataType::kINT32);
}

ICumulativeLayer* NetworkImpl::addCumulative(ITensor& input, ITensor& axis, CumulativeOperation operation,
                                             bool exclusive, bool reverse) noexcept {
  return add_or_null<ICumulativeLayer>(*this, "INetworkDefinition::addCumulative", [&]() -> Result<ICumulativeLayer*> {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&input, &axis}));
    WOOTZ_RETURN_IF_ERROR(check_enum(operation, "operation"));
    return add_layer<CumulativeLayer>(std::move(inputs), 1, operation, exclusive, reverse);
  });
}

IMatrixMultiplyLayer* NetworkImpl::addMatrixMultiply(ITensor& input0, MatrixOperation op0, ITensor& input1,
                                                     MatrixOperation op1) noexcept {
  return add_or_null<IMatrixMultiplyLayer>(
      *this, "INetworkDefinition::addMatrixMultiply", [&]() -> Result<IMatrixMultiplyLayer*> {
        WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&input0, &input1}));
        WOOTZ_RETURN_IF_ERROR(check_enum(op0, "matrix operation"));
        WOOTZ_RETURN_IF_ERROR(check_enum(op1, "matrix operation"));
        return add_layer<MatrixMultiplyLayer>(std::move(inputs), 1, op0, op1);
      });
}

IEinsumLayer* NetworkImpl::addEinsum(ITensor* const* inputs, int32_t nbInputs, const char* equation) noexcept {
  return add_or_null<IEinsumLayer>(*this, "INetworkDefinition::addEinsum", [&]() -> Result<IEinsumLayer*> {
    if (inputs == nullptr || nbInputs < 1 || equation == nullptr)
      return invalid_argument("{} inputs, equation {}", nbInputs, equation == nullptr ? "null" : equation);
    std::vector<TensorImpl*> list;
    for (int32_t i = 0; i < nbInputs; ++i) {
      WOOTZ_ASSIGN_OR_RETURN(TensorImpl * tensor, own(inputs[i], "an input"));
      list.push_back(tensor);
    }
    return add_layer<EinsumLayer>(std::move(list), 1, std::string(equation));
  });
}

}  // namespace wootz::api
