// Shuffle, concatenation, shape, squeeze, unsqueeze, padding, sequences in reverse.
#include "api/network/add.h"
#include "api/network/adopt.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: implements that interface, line by line

namespace {

Permutation identity() {
  Permutation p{};
  for (int32_t i = 0; i < ApiDims::MAX_DIMS; ++i) p.order[i] = i;
  return p;
}

class ShuffleLayer final : public LayerBase<IShuffleLayer> {
 public:
  explicit ShuffleLayer(NetworkImpl& network) : LayerBase(network, LayerType::kSHUFFLE, "Shuffle") { most_inputs = 2; }
  WOOTZ_SETTING(Permutation, FirstTranspose, first_)
  WOOTZ_SETTING(Permutation, SecondTranspose, second_)
  WOOTZ_SETTING(bool, ZeroIsPlaceholder, zero_copies_)
  void setReshapeDimensions(const ApiDims& dimensions) noexcept override {
    attempt(network().reporter(), "IShuffleLayer::setReshapeDimensions", [&]() -> Status {
      if (Result<Dims> ok = from_api(dimensions, -1); !ok.ok()) return ok.status().with_prefix(place());
      reshape_ = dimensions;
      if (inputs.size() > 1) inputs.resize(1);  // what was said last holds
      changed();
      return Status();
    });
  }
  ApiDims getReshapeDimensions() const noexcept override { return inputs.size() > 1 ? bad_dims() : reshape_; }
  void adopt(const Permutation& first, const ApiDims& reshape) {
    first_ = first;
    reshape_ = reshape;
  }

  Status emit(Emit& e) override {
    Value* v = transposed(e, e.in(0), first_, "first");
    if (e.failed()) return e.status();
    const AttrMap zero{{"allowzero", int64_t{zero_copies_ ? 0 : 1}}};
    if (e.has(1))
      v = e.op("Reshape", {v, e.in(1)}, zero);
    else if (reshape_.nbDims >= 0)
      v = e.op("Reshape", {v, e.ints(to_vector(reshape_))}, zero);
    if (e.failed()) return e.status();
    e.out(0, transposed(e, v, second_, "second"));
    return e.status();
  }

 private:
  static Value* transposed(Emit& e, Value* v, const Permutation& p, const char* which) {
    const auto rank = static_cast<size_t>(v->rank());
    std::vector<int64_t> perm(p.order, p.order + rank);
    std::vector<int64_t> sorted = perm;
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < rank; ++i)
      if (sorted[i] != static_cast<int64_t>(i)) {
        (void)e.fail("the {} transpose is no permutation of the {} dimensions of {}", which, rank,
                     shape_to_string(v->shape()));
        return nullptr;
      }
    return e.transpose(v, perm);
  }

  Permutation first_ = identity(), second_ = identity();
  ApiDims reshape_ = bad_dims();
  bool zero_copies_ = true;
};

class ConcatenationLayer final : public LayerBase<IConcatenationLayer> {
 public:
  explicit ConcatenationLayer(NetworkImpl& network) : LayerBase(network, LayerType::kCONCATENATION, "Concatenation") {
    most_inputs = limits::kMaxInputsPerNode;
  }
  void setAxis(int32_t axis) noexcept override {
    axis_ = axis;
    set_ = true;
    changed();
  }
  int32_t getAxis() const noexcept override { return set_ ? axis_ : channel_axis(inputs[0]->getDimensions().nbDims); }
  void adopt(int64_t axis) {
    axis_ = static_cast<int32_t>(axis);
    set_ = true;
  }
  Status emit(Emit& e) override {
    std::vector<Value*> values;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!e.has(i)) return e.fail("input {} is not given", i);
      values.push_back(e.in(i));
    }
    const int64_t axis = set_ ? axis_ : channel_axis(e.in(0)->rank());
    e.out(0, e.op("Concat", std::move(values), {{"axis", axis}}));
    return e.status();
  }

 private:
  int32_t axis_ = 0;
  bool set_ = false;
};

class ShapeLayer final : public LayerBase<IShapeLayer> {
 public:
  explicit ShapeLayer(NetworkImpl& network) : LayerBase(network, LayerType::kSHAPE, "Shape") {}
  Status emit(Emit& e) override {
    e.out(0, e.op("Shape", {e.in(0)}));
    return e.status();
  }
};

// The values of a constant list of integers.
Result<std::vector<int64_t>> constant_ints(const Value& v, const char* what) {
  std::vector<int64_t> values;
  if (v.is_constant() && is_integer(v.dtype()) && v.rank() <= 1) {
    for (int64_t i = 0; i < v.constant().volume(); ++i) values.push_back(v.constant().get_i64(i));
    return values;
  }
  if (v.shape_values()) {
    for (const Dim& d : *v.shape_values()) {
      if (!d.is_const()) return invalid_argument("{} must be known while building", what);
      values.push_back(d.value());
    }
    return values;
  }
  return invalid_argument("{} must be a constant list of integers", what);
}

class SqueezeLayer final : public LayerBase<ISqueezeLayer> {
 public:
  explicit SqueezeLayer(NetworkImpl& network) : LayerBase(network, LayerType::kSQUEEZE, "Squeeze") {}
  Status emit(Emit& e) override {
    WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, constant_ints(*e.in(1), "the axes, input 1,"));
    e.out(0, e.squeeze(e.in(0), axes));
    return e.status();
  }
};

class UnsqueezeLayer final : public LayerBase<IUnsqueezeLayer> {
 public:
  explicit UnsqueezeLayer(NetworkImpl& network) : LayerBase(network, LayerType::kUNSQUEEZE, "Unsqueeze") {}
  Status emit(Emit& e) override {
    WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, constant_ints(*e.in(1), "the axes, input 1,"));
    e.out(0, e.unsqueeze(e.in(0), axes));
    return e.status();
  }
};

class PaddingLayer final : public LayerBase<IPaddingLayer> {
 public:
  PaddingLayer(NetworkImpl& network, const ApiDims& pre, const ApiDims& post)
      : LayerBase(network, LayerType::kPADDING, "Padding"), pre_(pre), post_(post) {}
  WOOTZ_DIMS_SETTING(PrePaddingNd, pre_)
  WOOTZ_DIMS_SETTING(PostPaddingNd, post_)
  Status emit(Emit& e) override {
    const int rank = e.in(0)->rank();
    if (pre_.nbDims != 2 || post_.nbDims != 2) return e.fail("padding before and after must have two entries each");
    if (rank < 2) return e.fail("input {} has fewer than two dimensions", shape_to_string(e.in(0)->shape()));
    std::vector<int64_t> pads(static_cast<size_t>(2 * rank), 0);
    for (int i = 0; i < 2; ++i) {
      pads[static_cast<size_t>(rank - 2 + i)] = pre_.d[i];
      pads[static_cast<size_t>(2 * rank - 2 + i)] = post_.d[i];
    }
    e.out(0, e.op("Pad", {e.in(0)}, {{"pads", pads}, {"mode", std::string("constant")}}));
    return e.status();
  }

 private:
  ApiDims pre_, post_;
};

class ReverseSequenceLayer final : public LayerBase<IReverseSequenceLayer> {
 public:
  explicit ReverseSequenceLayer(NetworkImpl& network)
      : LayerBase(network, LayerType::kREVERSE_SEQUENCE, "ReverseSequence") {}
  WOOTZ_SETTING(int32_t, BatchAxis, batch_axis_)
  WOOTZ_SETTING(int32_t, SequenceAxis, sequence_axis_)
  Status emit(Emit& e) override {
    e.out(0, e.op("ReverseSequence", {e.in(0), e.cast(e.in(1), DType::kI64)},
                  {{"batch_axis", int64_t{batch_axis_}}, {"time_axis", int64_t{sequence_axis_}}}));
    return e.status();
  }

 private:
  int32_t batch_axis_ = 1, sequence_axis_ = 0;
};

}  // namespace

LayerCore* adopt_shape(const AdoptContext& c) {
  if (c.node.is("Transpose")) {
    Permutation p = identity();
    const std::vector<int64_t> perm = c.node.attr_ints("perm");
    for (size_t i = 0; i < perm.size() && i < 8; ++i) p.order[i] = static_cast<int32_t>(perm[i]);
    auto* layer = c.network.add_layer<ShuffleLayer>(c.inputs, 1);
    layer->adopt(p, bad_dims());
    return layer;
  }
  if (c.node.is("Reshape") && c.inputs[1] != nullptr && c.node.attr_int("allowzero") == 0) {
    const HostTensor& shape = c.inputs[1]->constant;
    if (!shape.valid()) return c.network.add_layer<ShuffleLayer>(c.inputs, 1);
    if (shape.volume() > ApiDims::MAX_DIMS) return nullptr;
    std::vector<int64_t> dims;
    for (int64_t i = 0; i < shape.volume(); ++i) dims.push_back(shape.get_i64(i));
    auto* layer = c.network.add_layer<ShuffleLayer>({c.inputs[0]}, 1);
    layer->adopt(identity(), to_api_dims(dims));
    return layer;
  }
  if (c.node.is("Concat")) {
    auto* layer = c.network.add_layer<ConcatenationLayer>(c.inputs, 1);
    layer->adopt(c.node.attr_int("axis"));
    return layer;
  }
  if (c.node.is("Shape") && c.node.attrs().empty()) return c.network.add_layer<ShapeLayer>(c.inputs, 1);
  return nullptr;
}

IShuffleLayer* NetworkImpl::addShuffle(ITensor& input) noexcept {
  return add_or_null<IShuffleLayer>(*this, "INetworkDefinition::addShuffle", [&]() -> Result<IShuffleLayer*> {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&input}));
    return add_layer<ShuffleLayer>(std::move(inputs), 1);
  });
}

IConcatenationLayer* NetworkImpl::addConcatenation(ITensor* const* inputs, int32_t nbInputs) noexcept {
  return add_or_null<IConcatenationLayer>(
      *this, "INetworkDefinition::addConcatenation", [&]() -> Result<IConcatenationLayer*> {
        if (inputs == nullptr || nbInputs < 1 || nbInputs > limits::kMaxInputsPerNode)
          return invalid_argument("{} inputs at {}", nbInputs, static_cast<const void*>(inputs));
        std::vector<TensorImpl*> list;
        for (int32_t i = 0; i < nbInputs; ++i) {
          WOOTZ_ASSIGN_OR_RETURN(TensorImpl * tensor, own(inputs[i], "an input"));
          list.push_back(tensor);
        }
        return add_layer<ConcatenationLayer>(std::move(list), 1);
      });
}

IShapeLayer* NetworkImpl::addShape(ITensor& input) noexcept {
  return add_or_null<IShapeLayer>(*this, "INetworkDefinition::addShape", [&]() -> Result<IShapeLayer*> {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&input}));
    return add_layer<ShapeLayer>(std::move(inputs), 1);
  });
}

ISqueezeLayer* NetworkImpl::addSqueeze(ITensor& input, ITensor& axes) noexcept {
  return add_or_null<ISqueezeLayer>(*this, "INetworkDefinition::addSqueeze", [&]() -> Result<ISqueezeLayer*> {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&input, &axes}));
    return add_layer<SqueezeLayer>(std::move(inputs), 1);
  });
}

IUnsqueezeLayer* NetworkImpl::addUnsqueeze(ITensor& input, ITensor& axes) noexcept {
  return add_or_null<IUnsqueezeLayer>(*this, "INetworkDefinition::addUnsqueeze", [&]() -> Result<IUnsqueezeLayer*> {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&input, &axes}));
    return add_layer<UnsqueezeLayer>(std::move(inputs), 1);
  });
}

IPaddingLayer* NetworkImpl::addPaddingNd(ITensor& input, const ApiDims& prePadding,
                                         const ApiDims& postPadding) noexcept {
  return add_or_null<IPaddingLayer>(*this, "INetworkDefinition::addPaddingNd", [&]() -> Result<IPaddingLayer*> {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&input}));
    if (prePadding.nbDims != 2 || postPadding.nbDims != 2)
      return invalid_argument("padding {} and {}; two entries each are expected", to_string(prePadding),
                              to_string(postPadding));
    return add_layer<PaddingLayer>(std::move(inputs), 1, prePadding, postPadding);
  });
}

IReverseSequenceLayer* NetworkImpl::addReverseSequence(ITensor& input, ITensor& sequenceLens) noexcept {
  return add_or_null<IReverseSequenceLayer>(
      *this, "INetworkDefinition::addReverseSequence", [&]() -> Result<IReverseSequenceLayer*> {
        WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&input, &sequenceLens}));
        return add_layer<ReverseSequenceLayer>(std::move(inputs), 1);
      });
}

}  // namespace wootz::api
