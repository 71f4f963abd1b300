// Softmax, scale, normalization, local response normalization.
#include <limits>

#include "api/network/add.h"
#include "api/network/adopt.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: implements that interface, line by line

namespace {

class SoftMaxLayer final : public LayerBase<ISoftMaxLayer> {
 public:
  explicit SoftMaxLayer(NetworkImpl& network) : LayerBase(network, LayerType::kSOFTMAX, "SoftMax") {}
  void setAxes(uint32_t axes) noexcept override {
    attempt(network().reporter(), "ISoftMaxLayer::setAxes", [&]() -> Status {
      if (Result<int> axis = single_axis(axes, ApiDims::MAX_DIMS); !axis.ok())
        return axis.status().with_prefix(place());
      axes_ = axes;
      changed();
      return Status();
    });
  }
  uint32_t getAxes() const noexcept override {
    return axes_ != 0 ? axes_ : 1U << channel_axis(inputs[0]->getDimensions().nbDims);
  }
  void adopt(uint32_t axes) { axes_ = axes; }
  Status emit(Emit& e) override {
    const int rank = e.in(0)->rank();
    WOOTZ_ASSIGN_OR_RETURN(const int axis, single_axis(axes_ != 0 ? axes_ : 1U << channel_axis(rank), rank));
    e.out(0, e.op("Softmax", {e.in(0)}, {{"axis", int64_t{axis}}}));
    return e.status();
  }

 private:
  uint32_t axes_ = 0;
};

class RaggedSoftMaxLayer final : public LayerBase<IRaggedSoftMaxLayer> {
 public:
  explicit RaggedSoftMaxLayer(NetworkImpl& network) : LayerBase(network, LayerType::kRAGGED_SOFTMAX, "RaggedSoftMax") {}
  Status emit(Emit& e) override {
    Value *x = e.in(0), *bounds = e.in(1);
    const DType index = bounds->dtype();
    const auto last = static_cast<int64_t>(x->rank()) - 1;
    if (last < 0) return e.fail("the input is a scalar");
    Value* extent = e.squeeze(e.op("Shape", {x}, {{"start", last}}), {0});
    Value* columns = e.op("Range", {e.scalar(index, 0), e.cast(extent, index), e.scalar(index, 1)});
    Value* inside = e.op("Less", {columns, bounds});
    // Blocked elements weigh nothing; the NaN of a row that is blocked whole is not taken.
    Value* low = e.op("Where", {inside, x, e.scalar(x->dtype(), -std::numeric_limits<double>::infinity())});
    Value* y = e.op("Softmax", {low}, {{"axis", last}});
    e.out(0, e.op("Where", {inside, y, e.scalar(x->dtype(), 0)}));
    return e.status();
  }
};

class ScaleLayer final : public LayerBase<IScaleLayer> {
 public:
  ScaleLayer(NetworkImpl& network, ScaleMode mode, Weights shift, Weights scale, Weights power, int32_t axis)
      : LayerBase(network, LayerType::kSCALE, "Scale"),
        mode_(mode),
        shift_(shift),
        scale_(scale),
        power_(power),
        axis_(axis) {}
  void setMode(ScaleMode mode) noexcept override {
    take_enum(*this, "IScaleLayer::setMode", "scale mode", mode, &mode_);
  }
  ScaleMode getMode() const noexcept override { return mode_; }
  WOOTZ_SETTING(Weights, Shift, shift_)
  WOOTZ_SETTING(Weights, Scale, scale_)
  WOOTZ_SETTING(Weights, Power, power_)
  WOOTZ_SETTING(int32_t, ChannelAxis, axis_)

  Status emit(Emit& e) override {
    Value* y = e.in(0);
    if (scale_.count > 0) y = e.op("Mul", {y, operand(e, scale_, "scale", WeightsRole::kSCALE)});
    if (shift_.count > 0) y = e.op("Add", {y, operand(e, shift_, "shift", WeightsRole::kSHIFT)});
    if (power_.count > 0) y = e.op("Pow", {y, operand(e, power_, "power", WeightsRole::kANY)});
    e.out(0, y);
    return e.status();
  }

  void collect_weights(std::vector<Weights>* weights) const override {
    weights->insert(weights->end(), {shift_, scale_, power_});
  }

 private:
  // The weights in a shape that broadcasts to the input.
  Value* operand(Emit& e, const Weights& weights, const char* what, WeightsRole role) {
    const Shape& x = e.in(0)->shape();
    const auto rank = static_cast<int32_t>(x.size());
    Dims dims;
    if (mode_ != ScaleMode::kUNIFORM) {
      if (axis_ < 0 || axis_ >= rank) {
        (void)e.fail("channel axis {} of input {}", axis_, shape_to_string(x));
        return nullptr;
      }
      for (int32_t a = axis_; a < rank; ++a) {
        const Dim& d = x[static_cast<size_t>(a)];
        const bool counts = a == axis_ || mode_ == ScaleMode::kELEMENTWISE;
        if (counts && !d.is_const()) {
          (void)e.fail("weights along dimension {} of input {}, which is open", a, shape_to_string(x));
          return nullptr;
        }
        dims.push_back(counts ? d.value() : 1);
      }
    }
    return e.cast(e.weights(weights, dims, what, role), e.in(0)->dtype());
  }

  ScaleMode mode_;
  Weights shift_, scale_, power_;
  int32_t axis_;
};

class NormalizationLayer final : public LayerBase<INormalizationLayer> {
 public:
  NormalizationLayer(NetworkImpl& network, uint32_t axes, bool v2)
      : LayerBase(network, LayerType::kNORMALIZATION, "Normalization"), axes_(axes), v2_(v2) {}
  WOOTZ_SETTING(float, Epsilon, epsilon_)
  WOOTZ_SETTING(uint32_t, Axes, axes_)
  void setNbGroups(int64_t nbGroups) noexcept override {
    attempt(network().reporter(), "INormalizationLayer::setNbGroups", [&]() -> Status {
      if (nbGroups < 1) return invalid_argument("{}: {} groups", place(), nbGroups);
      groups_ = nbGroups;
      changed();
      return Status();
    });
  }
  int64_t getNbGroups() const noexcept override { return groups_; }
  void setComputePrecision(DataType type) noexcept override {
    attempt(network().reporter(), "INormalizationLayer::setComputePrecision", [&]() -> Status {
      if (type != DataType::kFLOAT && type != DataType::kHALF)
        return invalid_argument("{}: sums of type {}; kFLOAT and kHALF are possible", place(), static_cast<int>(type));
      if (type == DataType::kHALF)
        network().reporter().warning("INormalizationLayer::setComputePrecision: " + place() +
                                     ": sums are kept in 32 bits, with which kHALF is no faster");
      compute_ = type;
      return Status();
    });
  }
  DataType getComputePrecision() const noexcept override { return compute_; }
  bool isV2() const noexcept override { return v2_; }

  Status emit(Emit& e) override {
    Value *x = e.in(0), *scale = e.in(1), *bias = e.in(2);
    const int rank = x->rank();
    WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, axes_of(axes_, rank));
    if (axes.empty()) return e.fail("no axes to normalize over");
    const auto first = static_cast<int>(axes[0]);
    const bool trailing = static_cast<int>(axes.size()) == rank - first;
    const AttrMap epsilon{{"epsilon", static_cast<double>(epsilon_)}};
    if (!v2_ && groups_ > 1) {  // V2 takes no scale by group
      scale = of_channels(e, *x, scale);
      bias = of_channels(e, *x, bias);
      if (e.failed()) return e.status();
    }
    const bool channels = rank > 2 && trailing && first == 2 && per_channel(*x, *scale) && per_channel(*x, *bias);
    if (groups_ > 1 || channels) {
      if (!channels) return e.fail("groups need all space dimensions as axes, and one scale and bias per channel");
      Value *s = e.reshape(scale, {-1}), *b = e.reshape(bias, {-1});
      if (groups_ == 1) {
        e.out(0, e.op("InstanceNorm", {x, s, b}, epsilon));
      } else {
        AttrMap attrs = epsilon;
        attrs.emplace("groups", groups_);
        e.out(0, e.op("GroupNorm", {x, s, b}, std::move(attrs)));
      }
    } else if (trailing) {
      AttrMap attrs = epsilon;
      attrs.emplace("axis", int64_t{first});
      e.out(0, e.op("LayerNorm", {x, scale, bias}, std::move(attrs)));
    } else {
      const auto mean = [&](Value* v) {
        return e.op("Reduce", {v}, {{"kind", std::string("mean")}, {"axes", axes}, {"keepdims", int64_t{1}}});
      };
      Value* centered = e.op("Sub", {x, mean(x)});
      Value* variance = mean(e.op("Mul", {centered, centered}));
      Value* root = e.op("Sqrt", {e.op("Add", {variance, e.scalar(x->dtype(), epsilon_)})});
      e.out(0, e.op("Add", {e.op("Mul", {e.op("Div", {centered, root}), scale}), bias}));
    }
    return e.status();
  }

 private:
  // One element per channel: [C], or 1 on every axis but the second.
  static bool per_channel(const Value& x, const Value& p) { return x.rank() > 1 && along_channels(x, p, x.shape()[1]); }
  static bool along_channels(const Value& x, const Value& p, const Dim& extent) {
    const Shape& s = p.shape();
    if (s.size() == 1) return s[0] == extent;
    if (s.size() != x.shape().size()) return false;
    for (size_t a = 0; a < s.size(); ++a)
      if (!(s[a] == (a == 1 ? extent : Dim(1)))) return false;
    return true;
  }
  // One element per group becomes one per channel of the group; anything else stays as it is.
  Value* of_channels(Emit& e, const Value& x, Value* p) const {
    if (x.rank() < 2 || !x.shape()[1].is_const() || x.shape()[1].value() % groups_ != 0 || per_channel(x, *p) ||
        !along_channels(x, *p, Dim(groups_)))
      return p;
    const int64_t each = x.shape()[1].value() / groups_;
    Value* const repeated = e.op("Expand", {e.reshape(p, {groups_, 1}), e.ints({groups_, each})});
    return e.reshape(repeated, {-1});
  }

  uint32_t axes_;
  bool v2_;
  float epsilon_ = 1e-5F;
  int64_t groups_ = 1;
  DataType compute_ = DataType::kFLOAT;
};

class LRNLayer final : public LayerBase<ILRNLayer> {
 public:
  LRNLayer(NetworkImpl& network, int64_t window, float alpha, float beta, float k)
      : LayerBase(network, LayerType::kLRN, "LRN"), window_(window), alpha_(alpha), beta_(beta), k_(k) {}
  static Status check(int64_t window) {
    return window >= 1 && window % 2 == 1 && window <= 15
               ? Status()
               : invalid_argument("the window is {}; it must be odd and between 1 and 15", window);
  }
  void setWindowSize(int64_t windowSize) noexcept override {
    attempt(network().reporter(), "ILRNLayer::setWindowSize", [&]() -> Status {
      if (Status status = check(windowSize); !status.ok()) return status.with_prefix(place());
      window_ = windowSize;
      changed();
      return Status();
    });
  }
  int64_t getWindowSize() const noexcept override { return window_; }
  WOOTZ_SETTING(float, Alpha, alpha_)
  WOOTZ_SETTING(float, Beta, beta_)
  WOOTZ_SETTING(float, K, k_)
  Status emit(Emit& e) override {
    e.out(0, e.op("LRN", {e.in(0)},
                  {{"size", window_},
                   {"alpha", static_cast<double>(alpha_)},
                   {"beta", static_cast<double>(beta_)},
                   {"bias", static_cast<double>(k_)}}));
    return e.status();
  }

 private:
  int64_t window_;
  float alpha_, beta_, k_;
};

}  // namespace

LayerCore* adopt_norm(const AdoptContext& c) {
  if (!c.node.is("Softmax") || c.inputs[0] == nullptr) return nullptr;
  const Result<int> axis = normalize_axis(c.node.attr_int("axis", -1), c.node.input(0)->rank());
  if (!axis.ok()) return nullptr;
  auto* layer = c.network.add_layer<SoftMaxLayer>(c.inputs, 1);
  layer->adopt(1U << *axis);
  return layer;
}

ISoftMaxLayer* NetworkImpl::addSoftMax(ITensor& input) noexcept {
  return add_or_null<ISoftMaxLayer>(*this, "INetworkDefinition::addSoftMax", [&]() -> Result<ISoftMaxLayer*> {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&input}));
    return add_layer<SoftMaxLayer>(std::move(inputs), 1);
  });
}

IRaggedSoftMaxLayer* NetworkImpl::addRaggedSoftMax(ITensor& input, ITensor& bounds) noexcept {
  return add_or_null<IRaggedSoftMaxLayer>(
      *this, "INetworkDefinition::addRaggedSoftMax", [&]() -> Result<IRaggedSoftMaxLayer*> {
        WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&input, &bounds}));
        return add_layer<RaggedSoftMaxLayer>(std::move(inputs), 1);
      });
}

IScaleLayer* NetworkImpl::addScaleNd(ITensor& input, ScaleMode mode, Weights shift, Weights scale, Weights power,
                                     int32_t channelAxis) noexcept {
  return add_or_null<IScaleLayer>(*this, "INetworkDefinition::addScaleNd", [&]() -> Result<IScaleLayer*> {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&input}));
    WOOTZ_RETURN_IF_ERROR(check_enum(mode, "scale mode"));
    return add_layer<ScaleLayer>(std::move(inputs), 1, mode, shift, scale, power, channelAxis);
  });
}

IScaleLayer* NetworkImpl::addScale(ITensor& input, ScaleMode mode, Weights shift, Weights scale,
                                   Weights power) noexcept {
  return addScaleNd(input, mode, shift, scale, power, 1);
}

INormalizationLayer* NetworkImpl::addNormalizationV2(ITensor& input, ITensor& scale, ITensor& bias,
                                                     uint32_t axesMask) noexcept {
  return add_or_null<INormalizationLayer>(
      *this, "INetworkDefinition::addNormalizationV2", [&]() -> Result<INormalizationLayer*> {
        WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&input, &scale, &bias}));
        return add_layer<NormalizationLayer>(std::move(inputs), 1, axesMask, true);
      });
}

INormalizationLayer* NetworkImpl::addNormalization(ITensor& input, ITensor& scale, ITensor& bias,
                                                   uint32_t axesMask) noexcept {
  return add_or_null<INormalizationLayer>(
      *this, "INetworkDefinition::addNormalization", [&]() -> Result<INormalizationLayer*> {
        WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&input, &scale, &bias}));
        return add_layer<NormalizationLayer>(std::move(inputs), 1, axesMask, false);
      });
}

ILRNLayer* NetworkImpl::addLRN(ITensor& input, int64_t window, float alpha, float beta, float k) noexcept {
  return add_or_null<ILRNLayer>(*this, "INetworkDefinition::addLRN", [&]() -> Result<ILRNLayer*> {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&input}));
    WOOTZ_RETURN_IF_ERROR(LRNLayer::check(window));
    return add_layer<LRNLayer>(std::move(inputs), 1, window, alpha, beta, k);
  });
}

}  // namespace wootz::api
