// Pooling.
#include "api/network/adopt.h"
#include "api/network/window_settings.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: implements that interface, line by line

namespace {

class PoolingLayer final : public LayerBase<IPoolingLayer> {
 public:
  PoolingLayer(NetworkImpl& network, PoolingType type, const std::vector<int64_t>& window)
      : LayerBase(network, LayerType::kPOOLING, "Pooling"), kind_(type), settings_(window) {}
  void setPoolingType(PoolingType type) noexcept override {
    take_enum(*this, "IPoolingLayer::setPoolingType", "pooling type", type, &kind_);
  }
  PoolingType getPoolingType() const noexcept override { return kind_; }
  void setBlendFactor(float blendFactor) noexcept override {
    attempt(network().reporter(), "IPoolingLayer::setBlendFactor", [&]() -> Status {
      if (!(blendFactor >= 0 && blendFactor <= 1))
        return invalid_argument("{}: the blend factor {} is outside [0, 1]", place(), blendFactor);
      blend_ = blendFactor;
      changed();
      return Status();
    });
  }
  float getBlendFactor() const noexcept override { return blend_; }
  WOOTZ_SETTING(bool, AverageCountExcludesPadding, exclusive_)
  WOOTZ_WINDOW_METHODS(IPoolingLayer)
  void setWindowSizeNd(const ApiDims& v) noexcept override {
    take_list(*this, "IPoolingLayer::setWindowSizeNd", settings_.rank(), v, 1, {&settings_.window});
  }
  ApiDims getWindowSizeNd() const noexcept override { return to_api_dims(settings_.window); }
  WindowSettings& settings() { return settings_; }
  void take_exclusive(bool exclusive) { exclusive_ = exclusive; }

  Status emit(Emit& e) override {
    Value* x = e.in(0);
    if (x->shape().size() != settings_.rank() + 2)
      return e.fail("input {} for a window of {} dimensions", shape_to_string(x->shape()), settings_.rank());
    AttrMap attrs{{"kernel", settings_.window}};
    WOOTZ_RETURN_IF_ERROR(settings_.to_attrs(*x, settings_.window, true, &attrs));
    const auto pool = [&](const char* kind) {
      AttrMap with = attrs;
      with.emplace("kind", std::string(kind));
      if (std::string_view(kind) == "avg") with.emplace("count_include_pad", int64_t{exclusive_ ? 0 : 1});
      return e.op("Pool", {x}, std::move(with));
    };
    if (kind_ == PoolingType::kMAX) {
      e.out(0, pool("max"));
    } else if (kind_ == PoolingType::kAVERAGE) {
      e.out(0, pool("avg"));
    } else {
      Value* max = e.op("Mul", {pool("max"), e.scalar(x->dtype(), 1.0 - blend_)});
      e.out(0, e.op("Add", {max, e.op("Mul", {pool("avg"), e.scalar(x->dtype(), blend_)})}));
    }
    return e.status();
  }

 private:
  PoolingType kind_;
  float blend_ = 0;
  bool exclusive_ = true;
  WindowSettings settings_;
};

}  // namespace

LayerCore* adopt_pool(const AdoptContext& c) {
  const std::string kind = c.node.attr_string("kind");
  if (!c.node.is("Pool") || (kind != "max" && kind != "avg") || c.node.num_outputs() != 1) return nullptr;
  if (c.node.attr_int("global") != 0) return nullptr;
  const std::vector<int64_t> kernel = c.node.attr_ints("kernel");
  WindowSettings settings(kernel);
  if (!settings.read(c.node)) return nullptr;
  for (const int64_t d : settings.dilation)
    if (d != 1) return nullptr;
  auto* layer =
      c.network.add_layer<PoolingLayer>(c.inputs, 1, kind == "max" ? PoolingType::kMAX : PoolingType::kAVERAGE, kernel);
  layer->settings() = settings;
  layer->take_exclusive(c.node.attr_int("count_include_pad") == 0);
  return layer;
}

IPoolingLayer* NetworkImpl::addPoolingNd(ITensor& input, PoolingType type, const ApiDims& windowSize) noexcept {
  return add_or_null<IPoolingLayer>(*this, "INetworkDefinition::addPoolingNd", [&]() -> Result<IPoolingLayer*> {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&input}));
    WOOTZ_RETURN_IF_ERROR(check_enum(type, "pooling type"));
    WOOTZ_RETURN_IF_ERROR(check_window(windowSize));
    return add_layer<PoolingLayer>(std::move(inputs), 1, type, to_vector(windowSize));
  });
}

}  // namespace wootz::api
