// Quantization by blocks with scales that are found from the values.
#include "api/network/add.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: implements that interface, line by line

namespace {

Status check_types(DataType to, DataType scale) {
  if (to != DataType::kFP4 && to != DataType::kFP8 && to != DataType::kINT8)
    return invalid_argument("dynamic quantization to type {}, it must be kFP4, kFP8 or kINT8", static_cast<int>(to));
  if (scale != DataType::kFP8 && scale != DataType::kE8M0 && scale != DataType::kFLOAT)
    return invalid_argument("scales of type {}, they must be kFP8, kE8M0 or kFLOAT", static_cast<int>(scale));
  if (to == DataType::kINT8 && scale != DataType::kFLOAT)
    return invalid_argument("scales of type {} to type kINT8, they must be kFLOAT", static_cast<int>(scale));
  return Status();
}

// The largest value of a type that is quantized to.
double largest(DataType type) { return type == DataType::kFP4 ? 6 : type == DataType::kINT8 ? 127 : 448; }

// How the axes fall into blocks: `split` has two axes for each that has several blocks.
struct Blocks {
  Shape whole, split, scales;  // of the input, of it in blocks, and an entry for each block
  std::vector<int64_t> inner;  // axes of `split` that lie within a block
};

class DynamicQuantizeLayer final : public LayerBase<IDynamicQuantizeLayer> {
 public:
  DynamicQuantizeLayer(NetworkImpl& network, DataType to, DataType scale)
      : LayerBase(network, LayerType::kDYNAMIC_QUANTIZE, "DynamicQuantize"), to_(to), scale_(scale) {
    most_inputs = 2;
  }
  void setToType(DataType type) noexcept override {
    take_type("IDynamicQuantizeLayer::setToType", type, scale_, type, &to_);
  }
  DataType getToType() const noexcept override { return to_; }
  void setScaleType(DataType type) noexcept override {
    take_type("IDynamicQuantizeLayer::setScaleType", to_, type, type, &scale_);
  }
  DataType getScaleType() const noexcept override { return scale_; }
  // What was set last counts: an axis and a size, or a shape.
  void setAxis(int32_t axis) noexcept override {
    axis_ = axis;
    by_shape_ = false;
    changed();
  }
  int32_t getAxis() const noexcept override { return axis_; }
  void setBlockSize(int32_t size) noexcept override {
    size_ = size;
    by_shape_ = false;
    changed();
  }
  int32_t getBlockSize() const noexcept override { return size_; }
  void setBlockShape(const ApiDims& shape) noexcept override {
    attempt(network().reporter(), "IDynamicQuantizeLayer::setBlockShape", [&]() -> Status {
      if (Result<Dims> ok = from_api(shape, -1); !ok.ok()) return ok.status().with_prefix(place());
      shape_ = shape;
      by_shape_ = true;
      changed();
      return Status();
    });
  }
  ApiDims getBlockShape() const noexcept override { return shape_; }

  Status emit(Emit& e) override {
    Value* const x = e.in(0);
    if (!is_model_float(x->dtype()))
      return e.fail("the input is {}, it must be f32, f16 or bf16", dtype_name(x->dtype()));
    if (e.has(1) && scale_ != DataType::kFP8)
      return e.fail("input 1, the scale of the scales, goes with scales of type kFP8");
    WOOTZ_ASSIGN_OR_RETURN(const Blocks blocks, divide(e, *x));
    Value* const values = e.reshape(e.cast(x, DType::kF32), blocks.split, {x});
    Value* const most =
        blocks.inner.empty() ? e.op("Abs", {values}) : e.reduce("max", e.op("Abs", {values}), blocks.inner, true);
    Value *stored = nullptr, *step = nullptr;
    store_scales(e, e.div(most, e.scalar(DType::kF32, largest(to_))), &stored, &step);
    // A block of zeros, or of what its scale is too coarse for, becomes zeros.
    Value* const none = e.op("Equal", {step, e.scalar(DType::kF32, 0)});
    step = e.op("Where", {none, e.scalar(DType::kF32, 1), step});
    Value* const quantized = e.op("Quantize", {values, step}, {{"to", std::string(dtype_name(from_api(to_)))}});
    e.out(0, e.reshape(quantized, blocks.whole, {x}));
    e.out(1, e.reshape(stored, blocks.scales, {x}));
    return e.status();
  }

  void use_axis(int32_t axis, int32_t size) {
    axis_ = axis;
    size_ = size;
  }
  void use_shape(const ApiDims& shape) {
    shape_ = shape;
    by_shape_ = true;
  }

 private:
  void take_type(const char* call, DataType to, DataType scale, DataType value, DataType* member) noexcept {
    attempt(network().reporter(), call, [&]() -> Status {
      if (Status status = check_types(to, scale); !status.ok()) return status.with_prefix(place());
      *member = value;
      changed();
      return Status();
    });
  }

  // Scales as they are given, and as values are divided by them: `stored` rounded to the type of scales.
  void store_scales(Emit& e, Value* scale, Value** stored, Value** step) const {
    if (scale_ == DataType::kFLOAT) {
      *stored = *step = scale;
    } else if (scale_ == DataType::kE8M0) {
      *stored = e.op("CastE8M0", {scale}, {{"round_mode", std::string("up")}});
      *step = e.cast(*stored, DType::kF32);
    } else {
      Value* const outer = e.has(1) ? e.as_scalar(e.cast(e.in(1), DType::kF32)) : e.scalar(DType::kF32, 1);
      *stored = e.op("Quantize", {scale, outer}, {{"to", std::string(dtype_name(DType::kF8E4M3))}});
      *step = e.op("Dequantize", {*stored, outer});
    }
  }

  // Elements of a block along each axis; -1: all.
  Result<std::vector<int64_t>> extents(int rank) const {
    std::vector<int64_t> extents(static_cast<size_t>(rank), 1);
    if (by_shape_) {
      if (shape_.nbDims != rank)
        return invalid_argument("blocks {} for an input of {} dimensions", to_string(shape_), rank);
      return to_vector(shape_);
    }
    WOOTZ_ASSIGN_OR_RETURN(const int axis, normalize_axis(axis_, rank));
    extents[static_cast<size_t>(axis)] = size_;
    return extents;
  }

  Result<Blocks> divide(Emit& e, const Value& x) const {
    if (x.rank() == 0) return invalid_argument("the input is a scalar, which has no blocks");
    WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> block, extents(x.rank()));
    Blocks b;
    b.whole = x.shape();
    for (size_t a = 0; a < block.size(); ++a) {
      const Dim& n = x.shape()[a];
      const bool whole = block[a] == -1 || n == Dim(block[a]);
      if (whole || block[a] == 1) {
        if (whole && !(n == Dim(1))) b.inner.push_back(static_cast<int64_t>(b.split.size()));
        b.split.push_back(n);
        b.scales.push_back(whole ? Dim(1) : n);
        continue;
      }
      if (block[a] < 1) return invalid_argument("blocks of {} along dimension {}", block[a], a);
      if (!n.is_const())
        return invalid_argument("blocks of {} along dimension {}, whose extent is open: it must be known", block[a], a);
      if (n.value() % block[a] != 0)
        return invalid_argument("blocks of {} along dimension {} of input {}", block[a], a, shape_to_string(x.shape()));
      b.split.emplace_back(n.value() / block[a]);
      b.inner.push_back(static_cast<int64_t>(b.split.size()));
      b.split.emplace_back(block[a]);
      b.scales.emplace_back(n.value() / block[a]);
    }
    if (b.split.size() > static_cast<size_t>(limits::kMaxRank))
      return invalid_argument("blocks along {} axes of a tensor of rank {}", b.split.size() - b.whole.size(), x.rank());
    return b;
  }

  DataType to_, scale_;
  bool by_shape_ = false;
  int32_t axis_ = -1, size_ = 0;
  ApiDims shape_{};
};

}  // namespace

IDynamicQuantizeLayer* NetworkImpl::addDynamicQuantizeV2(ITensor& input, const ApiDims& blockShape, DataType outputType,
                                                         DataType scaleType) noexcept {
  return add_or_null<IDynamicQuantizeLayer>(
      *this, "INetworkDefinition::addDynamicQuantizeV2", [&]() -> Result<IDynamicQuantizeLayer*> {
        WOOTZ_RETURN_IF_ERROR(from_api(blockShape, -1).status());
        WOOTZ_RETURN_IF_ERROR(check_types(outputType, scaleType));
        WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&input}));
        auto* const layer = add_layer<DynamicQuantizeLayer>(std::move(inputs), 2, outputType, scaleType);
        layer->use_shape(blockShape);
        return layer;
      });
}

IDynamicQuantizeLayer* NetworkImpl::addDynamicQuantize(ITensor& input, int32_t axis, int32_t blockSize,
                                                       DataType outputType, DataType scaleType) noexcept {
  return add_or_null<IDynamicQuantizeLayer>(
      *this, "INetworkDefinition::addDynamicQuantize", [&]() -> Result<IDynamicQuantizeLayer*> {
        WOOTZ_RETURN_IF_ERROR(check_types(outputType, scaleType));
        WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&input}));
        auto* const layer = add_layer<DynamicQuantizeLayer>(std::move(inputs), 2, outputType, scaleType);
        layer->use_axis(axis, blockSize);
        return layer;
      });
}

}  // namespace wootz::api
