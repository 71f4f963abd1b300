// Quantization and dequantization with given scales.
#include "api/network/add.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: implements that interface, line by line

namespace {

// Both directions: they differ in the op and in the types that may come out.
template <class I>
class QuantizeBase : public LayerBase<I> {
 public:
  QuantizeBase(NetworkImpl& network, LayerType type, const char* kind, const char* op, DataType to)
      : LayerBase<I>(network, type, kind), op_(op), to_(to) {
    this->most_inputs = 3;
  }
  using LayerBase<I>::changed;
  int32_t getAxis() const noexcept override { return axis_ == kNoAxis ? -1 : axis_; }
  void setAxis(int32_t axis) noexcept override {
    axis_ = axis;
    changed();
  }
  bool setBlockShape(const ApiDims& blockShape) noexcept override {
    return attempt(this->network().reporter(), "IQuantizeLayer::setBlockShape", [&]() -> Status {
      if (Result<Dims> ok = from_api(blockShape, -1); !ok.ok()) return ok.status().with_prefix(this->place());
      const int32_t rank = this->inputs[0]->getDimensions().nbDims;
      if (blockShape.nbDims != rank)
        return invalid_argument("{}: blocks {} for an input of {} dimensions", this->place(), to_string(blockShape),
                                rank);
      block_ = blockShape;
      changed();
      return Status();
    });
  }
  ApiDims getBlockShape() const noexcept override { return block_; }
  WOOTZ_SETTING(DataType, ToType, to_)

  Status emit(Emit& e) override {
    Value *x = e.in(0), *scale = e.in(1), *zero = e.has(2) ? e.in(2) : nullptr;
    const int rank = x->rank();
    WOOTZ_RETURN_IF_ERROR(check_blocks(e, *x, *scale));
    const AttrMap to{{"to", std::string(dtype_name(from_api(to_)))}};
    const auto apply = [&](Value* v, Value* s, Value* z) {
      std::vector<Value*> values{v, s};
      if (z != nullptr) values.push_back(z);
      return e.op(op_, std::move(values), to);
    };
    if (scale->rank() == rank && rank > 1) return blocked(e, x, scale, zero, apply);
    if (scale->rank() == 1 && rank > 0 && !(scale->shape()[0] == Dim(1))) {
      const Result<int> axis = normalize_axis(axis_ == kNoAxis ? std::min(1, rank - 1) : axis_, rank);
      if (!axis.ok()) return axis.status();
      std::vector<int64_t> ones;  // [C] as [C, 1, 1]
      for (int a = *axis + 1; a < rank; ++a) ones.push_back(a - *axis);
      const auto widen = [&](Value* v) { return v == nullptr || ones.empty() ? v : e.unsqueeze(v, ones); };
      e.out(0, apply(x, widen(scale), zero != nullptr && zero->rank() == 1 ? widen(zero) : zero));
    } else {
      e.out(0, apply(x, scale, zero));
    }
    return e.status();
  }

 private:
  // The scale's extents say the blocks; a block shape that was set must say the same.
  Status check_blocks(Emit& e, const Value& x, const Value& scale) const {
    if (block_.nbDims == 0) return Status();
    if (scale.rank() != x.rank() || block_.nbDims != x.rank())
      return e.fail("blocks {} need a scale with an entry for each, input {} has scale {}", to_string(block_),
                    shape_to_string(x.shape()), shape_to_string(scale.shape()));
    for (int a = 0; a < x.rank(); ++a) {
      const Dim &n = x.shape()[static_cast<size_t>(a)], &s = scale.shape()[static_cast<size_t>(a)];
      if (!n.is_const() || !s.is_const()) continue;
      const int64_t extent = block_.d[a] == -1 ? n.value() : block_.d[a];
      if (s.value() * extent != n.value())
        return e.fail("blocks of {} along dimension {} of input {}, for which scale {} has {} entries", extent, a,
                      shape_to_string(x.shape()), shape_to_string(scale.shape()), s.value());
    }
    return Status();
  }

  // A scale of x's rank: where an axis has several elements to an entry, it is split into entries and elements.
  template <class F>
  Status blocked(Emit& e, Value* x, Value* scale, Value* zero, const F& apply) {
    Shape split, scale_dims;
    bool any = false;
    for (int a = 0; a < x->rank(); ++a) {
      const Dim &n = x->shape()[static_cast<size_t>(a)], &s = scale->shape()[static_cast<size_t>(a)];
      const bool same = n == s || s == Dim(1);
      if (!same && (!n.is_const() || !s.is_const() || s.value() < 1 || n.value() % s.value() != 0))
        return e.fail("scale {} does not divide input {} into blocks", shape_to_string(scale->shape()),
                      shape_to_string(x->shape()));
      any = any || !same;
    }
    if (!any) {
      e.out(0, apply(x, scale, zero));
      return e.status();
    }
    for (int a = 0; a < x->rank(); ++a) {
      const Dim &n = x->shape()[static_cast<size_t>(a)], &s = scale->shape()[static_cast<size_t>(a)];
      scale_dims.push_back(s);
      if (n == s || s == Dim(1)) {
        split.push_back(n);
      } else {
        split.push_back(s);
        split.emplace_back(n.value() / s.value());
        scale_dims.emplace_back(1);
      }
    }
    if (split.size() > static_cast<size_t>(limits::kMaxRank))
      return e.fail("blocks along {} axes of a tensor of rank {}", split.size() - x->shape().size(), x->rank());
    const auto in_blocks = [&](Value* entries) { return e.reshape(entries, scale_dims, {entries}); };
    Value* z = zero != nullptr && zero->rank() == x->rank() ? in_blocks(zero) : zero;
    e.out(0, e.reshape(apply(e.reshape(x, split, {x}), in_blocks(scale), z), x->shape(), {x}));
    return e.status();
  }

  static constexpr int32_t kNoAxis = INT32_MIN;
  const char* op_;
  DataType to_;
  int32_t axis_ = kNoAxis;
  ApiDims block_{};
};

class QuantizeLayer final : public QuantizeBase<IQuantizeLayer> {
 public:
  QuantizeLayer(NetworkImpl& network, DataType to)
      : QuantizeBase(network, LayerType::kQUANTIZE, "Quantize", "Quantize", to) {}
};
class DequantizeLayer final : public QuantizeBase<IDequantizeLayer> {
 public:
  DequantizeLayer(NetworkImpl& network, DataType to)
      : QuantizeBase(network, LayerType::kDEQUANTIZE, "Dequantize", "Dequantize", to) {}
};

}  // namespace

IQuantizeLayer* NetworkImpl::addQuantize(ITensor& input, ITensor& scale, DataType outputType) noexcept {
  return add_or_null<IQuantizeLayer>(*this, "INetworkDefinition::addQuantize", [&]() -> Result<IQuantizeLayer*> {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&input, &scale}));
    const DataType t = outputType;
    if (t != DataType::kINT8 && t != DataType::kFP8 && t != DataType::kINT4 && t != DataType::kFP4 &&
        t != DataType::kUINT8)
      return invalid_argument("quantization to type {}", static_cast<int>(t));
    return add_layer<QuantizeLayer>(std::move(inputs), 1, t);
  });
}
IQuantizeLayer* NetworkImpl::addQuantize(ITensor& input, ITensor& scale) noexcept {
  return addQuantize(input, scale, DataType::kINT8);
}

IDequantizeLayer* NetworkImpl::addDequantize(ITensor& input, ITensor& scale, DataType outputType) noexcept {
  return add_or_null<IDequantizeLayer>(*this, "INetworkDefinition::addDequantize", [&]() -> Result<IDequantizeLayer*> {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&input, &scale}));
    const DataType t = outputType;
    if (t != DataType::kFLOAT && t != DataType::kHALF && t != DataType::kBF16)
      return invalid_argument("dequantization to type {}", static_cast<int>(t));
    return add_layer<DequantizeLayer>(std::move(inputs), 1, t);
  });
}
IDequantizeLayer* NetworkImpl::addDequantize(ITensor& input, ITensor& scale) noexcept {
  return addDequantize(input, scale, DataType::kFLOAT);
}

}  // namespace wootz::api
