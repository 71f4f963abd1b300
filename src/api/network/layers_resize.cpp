// Resize, grid sample, non-maximum suppression.
#include <limits>

#include "api/network/add.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: implements that interface, line by line

namespace {

class ResizeLayer final : public LayerBase<IResizeLayer> {
 public:
  explicit ResizeLayer(NetworkImpl& network) : LayerBase(network, LayerType::kRESIZE, "Resize") { most_inputs = 2; }
  void setOutputDimensions(const ApiDims& dimensions) noexcept override {
    attempt(network().reporter(), "IResizeLayer::setOutputDimensions", [&]() -> Status {
      if (Result<Dims> ok = from_api(dimensions, 0); !ok.ok()) return ok.status().with_prefix(place());
      extents_ = dimensions;
      scales_.clear();
      if (inputs.size() > 1) inputs.resize(1);
      changed();
      return Status();
    });
  }
  ApiDims getOutputDimensions() const noexcept override { return extents_; }
  void setScales(const float* scales, int32_t nbScales) noexcept override {
    attempt(network().reporter(), "IResizeLayer::setScales", [&]() -> Status {
      if (scales == nullptr || nbScales < 0 || nbScales > ApiDims::MAX_DIMS)
        return invalid_argument("{}: {} scales at {}", place(), nbScales, static_cast<const void*>(scales));
      for (int32_t i = 0; i < nbScales; ++i)
        if (!(scales[i] > 0)) return invalid_argument("{}: scale {} is {}", place(), i, scales[i]);
      scales_.assign(scales, scales + nbScales);
      extents_ = bad_dims();
      changed();
      return Status();
    });
  }
  int32_t getScales(int32_t size, float* scales) const noexcept override {
    if (scales_.empty()) return -1;
    for (int32_t i = 0; scales != nullptr && i < size && static_cast<size_t>(i) < scales_.size(); ++i)
      scales[i] = static_cast<float>(scales_[static_cast<size_t>(i)]);
    return static_cast<int32_t>(scales_.size());
  }
  void setResizeMode(InterpolationMode mode) noexcept override {
    take_enum(*this, "IResizeLayer::setResizeMode", "interpolation mode", mode, &mode_);
  }
  InterpolationMode getResizeMode() const noexcept override { return mode_; }
  void setCoordinateTransformation(ResizeCoordinateTransformation t) noexcept override {
    take_enum(*this, "IResizeLayer::setCoordinateTransformation", "coordinate transformation", t, &transformation_);
  }
  ResizeCoordinateTransformation getCoordinateTransformation() const noexcept override { return transformation_; }
  void setSelectorForSinglePixel(ResizeSelector selector) noexcept override {
    take_enum(*this, "IResizeLayer::setSelectorForSinglePixel", "selector", selector, &selector_);
  }
  ResizeSelector getSelectorForSinglePixel() const noexcept override { return selector_; }
  void setNearestRounding(ResizeRoundMode value) noexcept override {
    take_enum(*this, "IResizeLayer::setNearestRounding", "rounding", value, &rounding_);
  }
  ResizeRoundMode getNearestRounding() const noexcept override { return rounding_; }
  WOOTZ_SETTING(float, CubicCoeff, cubic_)
  WOOTZ_SETTING(bool, ExcludeOutside, exclude_)

  Status emit(Emit& e) override {
    static constexpr const char* kModes[] = {"nearest", "linear", "cubic"};
    static constexpr const char* kTransformations[] = {"align_corners", "asymmetric", "half_pixel"};
    static constexpr const char* kRoundings[] = {"round_prefer_ceil", "round_prefer_floor", "floor", "ceil"};
    std::string transformation = kTransformations[static_cast<size_t>(transformation_)];
    if (selector_ == ResizeSelector::kUPPER && transformation_ == ResizeCoordinateTransformation::kHALF_PIXEL)
      transformation = "pytorch_half_pixel";  // the same, but for a single element, which is the first
    AttrMap attrs{{"mode", std::string(kModes[static_cast<size_t>(mode_)])},
                  {"coordinate_transformation_mode", transformation},
                  {"nearest_mode", std::string(kRoundings[static_cast<size_t>(rounding_)])},
                  {"cubic_coeff_a", static_cast<double>(cubic_)},
                  {"exclude_outside", int64_t{exclude_}}};
    const auto rank = static_cast<size_t>(e.in(0)->rank());
    std::vector<Value*> values{e.in(0)};
    if (e.has(1)) {
      values.push_back(e.cast(e.in(1), DType::kI64));
    } else if (!scales_.empty()) {
      if (scales_.size() != rank)
        return e.fail("{} scales for input {}", scales_.size(), shape_to_string(e.in(0)->shape()));
      attrs.emplace("scales", scales_);
    } else if (extents_.nbDims >= 0) {
      if (static_cast<size_t>(extents_.nbDims) != rank)
        return e.fail("output extents {} for input {}", to_string(extents_), shape_to_string(e.in(0)->shape()));
      values.push_back(e.ints(to_vector(extents_)));
    } else {
      return e.fail("neither output extents nor scales are set");
    }
    e.out(0, e.op("Resize", std::move(values), std::move(attrs)));
    return e.status();
  }

 private:
  ApiDims extents_ = bad_dims();
  std::vector<double> scales_;
  InterpolationMode mode_ = InterpolationMode::kNEAREST;
  ResizeCoordinateTransformation transformation_ = ResizeCoordinateTransformation::kASYMMETRIC;
  ResizeSelector selector_ = ResizeSelector::kFORMULA;
  ResizeRoundMode rounding_ = ResizeRoundMode::kFLOOR;
  float cubic_ = -0.75F;
  bool exclude_ = false;
};

class GridSampleLayer final : public LayerBase<IGridSampleLayer> {
 public:
  explicit GridSampleLayer(NetworkImpl& network) : LayerBase(network, LayerType::kGRID_SAMPLE, "GridSample") {}
  void setInterpolationMode(InterpolationMode mode) noexcept override {
    take_enum(*this, "IGridSampleLayer::setInterpolationMode", "interpolation mode", mode, &mode_);
  }
  InterpolationMode getInterpolationMode() const noexcept override { return mode_; }
  WOOTZ_SETTING(bool, AlignCorners, align_)
  bool setSampleMode(SampleMode mode) noexcept override {
    return attempt(network().reporter(), "IGridSampleLayer::setSampleMode", [&]() -> Status {
      if (mode != SampleMode::kFILL && mode != SampleMode::kCLAMP && mode != SampleMode::kREFLECT)
        return invalid_argument("{}: sample mode {}; kFILL, kCLAMP and kREFLECT are possible", place(),
                                static_cast<int>(mode));
      outside_ = mode;
      changed();
      return Status();
    });
  }
  SampleMode getSampleMode() const noexcept override { return outside_; }
  Status emit(Emit& e) override {
    static constexpr const char* kModes[] = {"nearest", "linear", "cubic"};
    const char* padding = outside_ == SampleMode::kFILL    ? "zeros"
                          : outside_ == SampleMode::kCLAMP ? "border"
                                                           : "reflection";
    e.out(0, e.op("GridSample", {e.in(0), e.in(1)},
                  {{"mode", std::string(kModes[static_cast<size_t>(mode_)])},
                   {"padding_mode", std::string(padding)},
                   {"align_corners", int64_t{align_}}}));
    return e.status();
  }

 private:
  InterpolationMode mode_ = InterpolationMode::kLINEAR;
  SampleMode outside_ = SampleMode::kFILL;
  bool align_ = false;
};

class NMSLayer final : public LayerBase<INMSLayer> {
 public:
  NMSLayer(NetworkImpl& network, DataType type) : LayerBase(network, LayerType::kNMS, "NMS"), indices_(type) {
    most_inputs = 5;
  }
  void setBoundingBoxFormat(BoundingBoxFormat fmt) noexcept override {
    take_enum(*this, "INMSLayer::setBoundingBoxFormat", "box format", fmt, &format_);
  }
  BoundingBoxFormat getBoundingBoxFormat() const noexcept override { return format_; }
  void setTopKBoxLimit(int32_t limit) noexcept override {
    attempt(network().reporter(), "INMSLayer::setTopKBoxLimit", [&]() -> Status {
      if (limit < 1) return invalid_argument("{}: the best {} boxes; one is the least", place(), limit);
      limit_ = limit;
      changed();
      return Status();
    });
  }
  int32_t getTopKBoxLimit() const noexcept override { return limit_; }
  bool setIndicesType(DataType type) noexcept override {
    return attempt(network().reporter(), "INMSLayer::setIndicesType", [&]() -> Status {
      if (type != DataType::kINT32 && type != DataType::kINT64)
        return invalid_argument("{}: indices of type {}", place(), static_cast<int>(type));
      indices_ = type;
      changed();
      return Status();
    });
  }
  DataType getIndicesType() const noexcept override { return indices_; }
  Status emit(Emit& e) override {
    Value* boxes = e.in(0);
    if (boxes->rank() == 4) {
      if (!(boxes->shape()[2] == Dim(1)))
        return e.fail("boxes {} with coordinates of their own for each class", shape_to_string(boxes->shape()));
      boxes = e.squeeze(boxes, {2});
    }
    std::vector<Value*> values{boxes, limited(e, e.transpose(e.in(1), {0, 2, 1})), e.cast(e.in(2), DType::kI64)};
    for (size_t i = 3; i < inputs.size(); ++i) values.push_back(e.has(i) ? e.cast(e.in(i), DType::kF32) : nullptr);
    Value* rows = e.op("NonMaxSuppression", std::move(values),
                       {{"center_point_box", int64_t{format_ == BoundingBoxFormat::kCENTER_SIZES}}});
    e.out(0, e.cast(rows, from_api(indices_)));
    Value* count = e.op("Shape", {rows}, {{"start", int64_t{0}}, {"end", int64_t{1}}});
    e.out(1, e.cast(e.squeeze(count, {0}), DType::kI32));
    return e.status();
  }

 private:
  // Scores [N, classes, boxes] of which those below the limit's are no numbers, which selects no box. What ties with
  // the last of them stays.
  Value* limited(Emit& e, Value* scores) const {
    if (scores == nullptr || scores->rank() != 3) return scores;
    const Dim& boxes = scores->shape()[2];
    if (boxes.is_const() && boxes.value() <= limit_) return scores;
    std::vector<Value*> from{scores};
    AttrMap attrs{{"axis", int64_t{2}}, {"largest", int64_t{1}}, {"sorted", int64_t{0}}};
    if (boxes.is_const())
      attrs.emplace("k", int64_t{limit_});
    else
      from.push_back(e.op(
          "Min", {e.op("Shape", {scores}, {{"start", int64_t{2}}, {"end", int64_t{3}}}), e.ints({int64_t{limit_}})}));
    const Node* best = e.node("TopK", std::move(from), std::move(attrs), 2);
    if (best == nullptr) return nullptr;
    Value* last = e.op("Reduce", {best->output(0)},
                       {{"kind", std::string("min")}, {"axes", std::vector<int64_t>{2}}, {"keepdims", int64_t{1}}});
    return e.op("Where", {e.op("Less", {scores, last}),
                          e.scalar(scores->dtype(), std::numeric_limits<double>::quiet_NaN()), scores});
  }

  DataType indices_;
  BoundingBoxFormat format_ = BoundingBoxFormat::kCORNER_PAIRS;
  int32_t limit_ = 2000;
};

}  // namespace

IResizeLayer* NetworkImpl::addResize(ITensor& input) noexcept {
  return add_or_null<IResizeLayer>(*this, "INetworkDefinition::addResize", [&]() -> Result<IResizeLayer*> {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&input}));
    return add_layer<ResizeLayer>(std::move(inputs), 1);
  });
}

IGridSampleLayer* NetworkImpl::addGridSample(ITensor& input, ITensor& grid) noexcept {
  return add_or_null<IGridSampleLayer>(*this, "INetworkDefinition::addGridSample", [&]() -> Result<IGridSampleLayer*> {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&input, &grid}));
    return add_layer<GridSampleLayer>(std::move(inputs), 1);
  });
}

INMSLayer* NetworkImpl::addNMS(ITensor& boxes, ITensor& scores, ITensor& maxOutputBoxesPerClass,
                               DataType indicesType) noexcept {
  return add_or_null<INMSLayer>(*this, "INetworkDefinition::addNMS", [&]() -> Result<INMSLayer*> {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&boxes, &scores, &maxOutputBoxesPerClass}));
    if (indicesType != DataType::kINT32 && indicesType != DataType::kINT64)
      return invalid_argument("indices of type {}", static_cast<int>(indicesType));
    return add_layer<NMSLayer>(std::move(inputs), 2, indicesType);
  });
}

INMSLayer* NetworkImpl::addNMS(ITensor& boxes, ITensor& scores, ITensor& maxOutputBoxesPerClass) noexcept {
  return addNMS(boxes, scores, maxOutputBoxesPerClass, DataType::kINT32);
}

}  // namespace wootz::api
