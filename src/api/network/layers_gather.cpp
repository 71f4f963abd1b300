// Gather, scatter, positions of non-zero elements, one-hot.
#include "api/network/add.h"
#include "api/network/adopt.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: implements that interface, line by line

namespace {

class GatherLayer final : public LayerBase<IGatherLayer> {
 public:
  GatherLayer(NetworkImpl& network, GatherMode mode, int32_t axis)
      : LayerBase(network, LayerType::kGATHER, "Gather"), mode_(mode), axis_(axis) {}
  WOOTZ_SETTING(int32_t, GatherAxis, axis_)
  WOOTZ_SETTING(int32_t, NbElementWiseDims, batch_)
  void setMode(GatherMode mode) noexcept override {
    take_enum(*this, "IGatherLayer::setMode", "gather mode", mode, &mode_);
  }
  GatherMode getMode() const noexcept override { return mode_; }

  Status emit(Emit& e) override {
    Value *data = e.in(0), *indices = e.in(1);
    if (batch_ < 0 || batch_ > data->rank() || batch_ > indices->rank())
      return e.fail("{} shared dimensions of data {} and indices {}", batch_, shape_to_string(data->shape()),
                    shape_to_string(indices->shape()));
    if (mode_ == GatherMode::kELEMENT) {
      e.out(0, e.op("GatherElements", {data, indices}, {{"axis", int64_t{axis_}}}));
    } else if (mode_ == GatherMode::kND) {
      e.out(0, e.op("GatherND", {data, indices}, {{"batch_dims", int64_t{batch_}}}));
    } else if (batch_ == 0) {
      e.out(0, e.op("Gather", {data, indices}, {{"axis", int64_t{axis_}}}));
    } else {
      return batched(e, data, indices);
    }
    return e.status();
  }

 private:
  // With the axis brought right after the batch, each index is a whole position of one coordinate.
  Status batched(Emit& e, Value* data, Value* indices) {
    const int64_t rank = data->rank(), axis = axis_ < 0 ? axis_ + rank : axis_;
    if (axis < batch_ || axis >= rank)
      return e.fail("axis {} of data {} with {} shared dimensions", axis_, shape_to_string(data->shape()), batch_);
    std::vector<int64_t> perm;
    for (int64_t a = 0; a < rank; ++a)
      if (a != axis) perm.push_back(a);
    perm.insert(perm.begin() + batch_, axis);
    Value* moved = e.transpose(data, perm);
    Value* points = e.unsqueeze(indices, {indices->rank()});
    Value* y = e.op("GatherND", {moved, points}, {{"batch_dims", int64_t{batch_}}});
    if (e.failed()) return e.status();
    // Now [batch, indices, before the axis, after it]; the indices belong at the axis.
    const int64_t picked = indices->rank() - batch_, before = axis - batch_;
    std::vector<int64_t> back;
    for (int64_t a = 0; a < batch_; ++a) back.push_back(a);
    for (int64_t a = 0; a < before; ++a) back.push_back(batch_ + picked + a);
    for (int64_t a = 0; a < picked; ++a) back.push_back(batch_ + a);
    for (int64_t a = batch_ + picked + before; a < y->rank(); ++a) back.push_back(a);
    e.out(0, e.transpose(y, back));
    return e.status();
  }

  GatherMode mode_;
  int32_t axis_;
  int32_t batch_ = 0;
};

class ScatterLayer final : public LayerBase<IScatterLayer> {
 public:
  ScatterLayer(NetworkImpl& network, ScatterMode mode)
      : LayerBase(network, LayerType::kSCATTER, "Scatter"), mode_(mode) {}
  void setMode(ScatterMode mode) noexcept override {
    take_enum(*this, "IScatterLayer::setMode", "scatter mode", mode, &mode_);
  }
  ScatterMode getMode() const noexcept override { return mode_; }
  WOOTZ_SETTING(int32_t, Axis, axis_)
  Status emit(Emit& e) override {
    Value* indices = e.cast(e.in(1), DType::kI64);
    if (mode_ == ScatterMode::kELEMENT)
      e.out(0, e.op("ScatterElements", {e.in(0), indices, e.in(2)}, {{"axis", int64_t{axis_}}}));
    else
      e.out(0, e.op("ScatterND", {e.in(0), indices, e.in(2)}));
    return e.status();
  }

 private:
  ScatterMode mode_;
  int32_t axis_ = 0;
};

class NonZeroLayer final : public LayerBase<INonZeroLayer> {
 public:
  NonZeroLayer(NetworkImpl& network, DataType type)
      : LayerBase(network, LayerType::kNON_ZERO, "NonZero"), indices_(type) {}
  bool setIndicesType(DataType type) noexcept override {
    return attempt(network().reporter(), "INonZeroLayer::setIndicesType", [&]() -> Status {
      if (type != DataType::kINT32 && type != DataType::kINT64)
        return invalid_argument("{}: indices of type {}", place(), static_cast<int>(type));
      indices_ = type;
      changed();
      return Status();
    });
  }
  DataType getIndicesType() const noexcept override { return indices_; }
  Status emit(Emit& e) override {
    e.out(0, e.cast(e.op("NonZero", {e.in(0)}), from_api(indices_)));
    return e.status();
  }

 private:
  DataType indices_;
};

class OneHotLayer final : public LayerBase<IOneHotLayer> {
 public:
  OneHotLayer(NetworkImpl& network, int32_t axis) : LayerBase(network, LayerType::kONE_HOT, "OneHot"), axis_(axis) {}
  WOOTZ_SETTING(int32_t, Axis, axis_)
  Status emit(Emit& e) override {
    e.out(0, e.op("OneHot", {e.in(0), e.in(2), e.in(1)}, {{"axis", int64_t{axis_}}}));
    return e.status();
  }

 private:
  int32_t axis_;
};

}  // namespace

LayerCore* adopt_gather(const AdoptContext& c) {
  if (c.node.is("Gather"))
    return c.network.add_layer<GatherLayer>(c.inputs, 1, GatherMode::kDEFAULT,
                                            static_cast<int32_t>(c.node.attr_int("axis")));
  if (c.node.is("GatherElements"))
    return c.network.add_layer<GatherLayer>(c.inputs, 1, GatherMode::kELEMENT,
                                            static_cast<int32_t>(c.node.attr_int("axis")));
  if (c.node.is("NonZero")) return c.network.add_layer<NonZeroLayer>(c.inputs, 1, DataType::kINT64);
  return nullptr;
}

IGatherLayer* NetworkImpl::addGatherV2(ITensor& data, ITensor& indices, GatherMode mode) noexcept {
  return add_or_null<IGatherLayer>(*this, "INetworkDefinition::addGatherV2", [&]() -> Result<IGatherLayer*> {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&data, &indices}));
    WOOTZ_RETURN_IF_ERROR(check_enum(mode, "gather mode"));
    return add_layer<GatherLayer>(std::move(inputs), 1, mode, 0);
  });
}

IGatherLayer* NetworkImpl::addGather(ITensor& data, ITensor& indices, int32_t axis) noexcept {
  return add_or_null<IGatherLayer>(*this, "INetworkDefinition::addGather", [&]() -> Result<IGatherLayer*> {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&data, &indices}));
    return add_layer<GatherLayer>(std::move(inputs), 1, GatherMode::kDEFAULT, axis);
  });
}

IScatterLayer* NetworkImpl::addScatter(ITensor& data, ITensor& indices, ITensor& updates, ScatterMode mode) noexcept {
  return add_or_null<IScatterLayer>(*this, "INetworkDefinition::addScatter", [&]() -> Result<IScatterLayer*> {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&data, &indices, &updates}));
    WOOTZ_RETURN_IF_ERROR(check_enum(mode, "scatter mode"));
    return add_layer<ScatterLayer>(std::move(inputs), 1, mode);
  });
}

INonZeroLayer* NetworkImpl::addNonZero(ITensor& input, DataType indicesType) noexcept {
  return add_or_null<INonZeroLayer>(*this, "INetworkDefinition::addNonZero", [&]() -> Result<INonZeroLayer*> {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&input}));
    if (indicesType != DataType::kINT32 && indicesType != DataType::kINT64)
      return invalid_argument("indices of type {}", static_cast<int>(indicesType));
    return add_layer<NonZeroLayer>(std::move(inputs), 1, indicesType);
  });
}

INonZeroLayer* NetworkImpl::addNonZero(ITensor& input) noexcept { return addNonZero(input, DataType::kINT32); }

IOneHotLayer* NetworkImpl::addOneHot(ITensor& indices, ITensor& values, ITensor& depth, int32_t axis) noexcept {
  return add_or_null<IOneHotLayer>(*this, "INetworkDefinition::addOneHot", [&]() -> Result<IOneHotLayer*> {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&indices, &values, &depth}));
    return add_layer<OneHotLayer>(std::move(inputs), 1, axis);
  });
}

}  // namespace wootz::api
