// Convolution and deconvolution.
#include "api/network/adopt.h"
#include "api/network/window_settings.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: implements that interface, line by line

namespace {

// Both layers have the same methods; what they emit differs.
template <class I>
class ConvBase : public LayerBase<I> {
 public:
  ConvBase(NetworkImpl& network, LayerType type, const char* kind, int64_t maps, const std::vector<int64_t>& kernel)
      : LayerBase<I>(network, type, kind), maps_(maps), settings_(kernel) {
    this->most_inputs = 3;
  }
  using LayerBase<I>::changed;
  using LayerBase<I>::network;

  void setNbOutputMaps(int64_t value) noexcept override { take_count("setNbOutputMaps", value, &maps_); }
  int64_t getNbOutputMaps() const noexcept override { return maps_; }
  void setNbGroups(int64_t value) noexcept override { take_count("setNbGroups", value, &groups_); }
  int64_t getNbGroups() const noexcept override { return groups_; }
  WOOTZ_SETTING(Weights, KernelWeights, kernel_)
  WOOTZ_SETTING(Weights, BiasWeights, bias_)
  WOOTZ_WINDOW_METHODS(IConvolutionLayer)
  void setKernelSizeNd(const ApiDims& v) noexcept override {
    take_list(*this, "IConvolutionLayer::setKernelSizeNd", settings_.rank(), v, 1, {&settings_.window});
  }
  ApiDims getKernelSizeNd() const noexcept override { return to_api_dims(settings_.window); }
  void setDilationNd(const ApiDims& v) noexcept override {
    take_list(*this, "IConvolutionLayer::setDilationNd", settings_.rank(), v, 1, {&settings_.dilation});
  }
  ApiDims getDilationNd() const noexcept override { return to_api_dims(settings_.dilation); }

  void collect_weights(std::vector<Weights>* weights) const override {
    weights->insert(weights->end(), {kernel_, bias_});
  }
  void take(Weights kernel, Weights bias) {
    kernel_ = kernel;
    bias_ = bias;
  }
  WindowSettings& settings() { return settings_; }
  void take_groups(int64_t groups) { groups_ = groups; }

 protected:
  void take_count(const char* what, int64_t value, int64_t* member) noexcept {
    attempt(network().reporter(), what, [&]() -> Status {
      if (value < 1) return invalid_argument("{}: {} is not positive", this->place(), value);
      *member = value;
      changed();
      return Status();
    });
  }
  // The kernel as a value: input 1, or the weights in the given shape.
  Value* kernel_value(Emit& e, const std::vector<int64_t>& shape) {
    if (e.has(1)) {
      if (kernel_.count > 0) (void)e.fail("the kernel is given both as weights and as input 1");
      return e.in(1);
    }
    Value* w = e.weights(kernel_, Dims(std::span<const int64_t>(shape)), "kernel weights", WeightsRole::kKERNEL);
    return w != nullptr && is_float(w->dtype()) && is_float(e.in(0)->dtype()) ? e.cast(w, e.in(0)->dtype()) : w;
  }
  Value* bias_value(Emit& e) {
    if (e.has(2)) {
      if (bias_.count > 0) (void)e.fail("the bias is given both as weights and as input 2");
      return e.in(2);
    }
    if (bias_.count == 0) return nullptr;
    Value* b = e.weights(bias_, Dims{maps_}, "bias weights", WeightsRole::kBIAS);
    return b != nullptr && is_float(b->dtype()) && is_float(e.in(0)->dtype()) ? e.cast(b, e.in(0)->dtype()) : b;
  }
  Result<int64_t> channels(Emit& e) const {
    const Shape& x = e.in(0)->shape();
    if (x.size() != settings_.rank() + 2)
      return invalid_argument("input {} for a window of {} dimensions", shape_to_string(x), settings_.rank());
    if (!x[1].is_const()) return invalid_argument("the channels of input {} are open", shape_to_string(x));
    if (x[1].value() % groups_ != 0 || maps_ % groups_ != 0)
      return invalid_argument("{} channels and {} output maps do not split into {} groups", x[1].value(), maps_,
                              groups_);
    return x[1].value();
  }

  int64_t maps_, groups_ = 1;
  Weights kernel_{DataType::kFLOAT, nullptr, 0}, bias_{DataType::kFLOAT, nullptr, 0};
  WindowSettings settings_;
};

class ConvolutionLayer final : public ConvBase<IConvolutionLayer> {
 public:
  ConvolutionLayer(NetworkImpl& network, int64_t maps, const std::vector<int64_t>& kernel)
      : ConvBase(network, LayerType::kCONVOLUTION, "Convolution", maps, kernel) {}
  Status emit(Emit& e) override {
    WOOTZ_ASSIGN_OR_RETURN(const int64_t in, channels(e));
    std::vector<int64_t> shape{maps_, in / groups_};
    shape.insert(shape.end(), settings_.window.begin(), settings_.window.end());
    Value* w = kernel_value(e, shape);
    Value* b = bias_value(e);
    if (e.failed()) return e.status();
    AttrMap attrs{{"groups", groups_}, {"dilations", settings_.dilation}};
    WOOTZ_RETURN_IF_ERROR(settings_.to_attrs(*e.in(0), settings_.window, false, &attrs));
    std::vector<Value*> inputs{e.in(0), w};
    if (b != nullptr) inputs.push_back(b);
    e.out(0, e.op("Conv", std::move(inputs), std::move(attrs)));
    return e.status();
  }
};

class DeconvolutionLayer final : public ConvBase<IDeconvolutionLayer> {
 public:
  DeconvolutionLayer(NetworkImpl& network, int64_t maps, const std::vector<int64_t>& kernel)
      : ConvBase(network, LayerType::kDECONVOLUTION, "Deconvolution", maps, kernel) {}
  Status emit(Emit& e) override {
    WOOTZ_ASSIGN_OR_RETURN(const int64_t in, channels(e));
    std::vector<int64_t> shape{in, maps_ / groups_};
    shape.insert(shape.end(), settings_.window.begin(), settings_.window.end());
    Value* w = kernel_value(e, shape);
    Value* b = bias_value(e);
    if (e.failed()) return e.status();
    std::vector<int64_t> pre = settings_.pre, post = settings_.post, more(settings_.rank(), 0);
    const bool lower = settings_.mode == PaddingMode::kSAME_LOWER;
    if (lower || settings_.mode == PaddingMode::kSAME_UPPER) {  // the output is stride times as large as the input
      for (size_t a = 0; a < settings_.rank(); ++a) {
        const int64_t reach = (settings_.window[a] - 1) * settings_.dilation[a] + 1;
        const int64_t total = std::max<int64_t>(0, reach - settings_.stride[a]);
        pre[a] = lower ? total - total / 2 : total / 2;
        post[a] = total - pre[a];
        more[a] = std::max<int64_t>(0, settings_.stride[a] - reach);
      }
    }
    std::vector<int64_t> pads = pre;
    pads.insert(pads.end(), post.begin(), post.end());
    AttrMap attrs{
        {"groups", groups_}, {"dilations", settings_.dilation}, {"strides", settings_.stride}, {"pads", pads}};
    if (std::any_of(more.begin(), more.end(), [](int64_t v) { return v != 0; })) attrs.emplace("output_padding", more);
    std::vector<Value*> inputs{e.in(0), w};
    if (b != nullptr) inputs.push_back(b);
    e.out(0, e.op("ConvTranspose", std::move(inputs), std::move(attrs)));
    return e.status();
  }
};

Weights view(const HostTensor& tensor) { return {to_api(tensor.dtype()), tensor.data(), tensor.volume()}; }

template <class L>
LayerCore* adopt(const AdoptContext& c, int64_t maps, bool transposed) {
  const HostTensor& w = c.inputs[1]->constant;
  const std::vector<int64_t> kernel(w.dims().begin() + 2, w.dims().end());
  WindowSettings settings(kernel);
  if (!settings.read(c.node) || (transposed && c.node.has_attr("output_padding"))) return nullptr;
  const bool bias = c.inputs.size() > 2 && c.inputs[2] != nullptr;
  if (bias && !c.inputs[2]->constant.valid()) return nullptr;
  L* layer = c.network.add_layer<L>({c.inputs[0]}, 1, maps, kernel);
  layer->settings() = settings;
  layer->take_groups(c.node.attr_int("groups", 1));
  layer->take(view(w), bias ? view(c.inputs[2]->constant) : Weights{DataType::kFLOAT, nullptr, 0});
  return layer;
}

}  // namespace

LayerCore* adopt_conv(const AdoptContext& c) {
  const bool transposed = c.node.is("ConvTranspose");
  if (!transposed && !c.node.is("Conv")) return nullptr;
  if (c.node.has_attr("x_scale") || c.inputs.size() < 2 || c.inputs[1] == nullptr) return nullptr;
  const HostTensor& w = c.inputs[1]->constant;
  if (!w.valid() || w.rank() < 3 || w.rank() > 5 || !has_api_type(w.dtype())) return nullptr;
  const int64_t groups = c.node.attr_int("groups", 1);
  return transposed ? adopt<DeconvolutionLayer>(c, w.dims()[1] * groups, true)
                    : adopt<ConvolutionLayer>(c, w.dims()[0], false);
}

IConvolutionLayer* NetworkImpl::addConvolutionNd(ITensor& input, int64_t nbOutputMaps, const ApiDims& kernelSize,
                                                 Weights kernelWeights, Weights biasWeights) noexcept {
  return add_or_null<IConvolutionLayer>(
      *this, "INetworkDefinition::addConvolutionNd", [&]() -> Result<IConvolutionLayer*> {
        WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&input}));
        WOOTZ_RETURN_IF_ERROR(check_window(kernelSize));
        if (nbOutputMaps < 1) return invalid_argument("{} output maps", nbOutputMaps);
        auto* layer = add_layer<ConvolutionLayer>(std::move(inputs), 1, nbOutputMaps, to_vector(kernelSize));
        layer->take(kernelWeights, biasWeights);
        return layer;
      });
}

IDeconvolutionLayer* NetworkImpl::addDeconvolutionNd(ITensor& input, int64_t nbOutputMaps, ApiDims kernelSize,
                                                     Weights kernelWeights, Weights biasWeights) noexcept {
  return add_or_null<IDeconvolutionLayer>(
      *this, "INetworkDefinition::addDeconvolutionNd", [&]() -> Result<IDeconvolutionLayer*> {
        WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, own({&input}));
        WOOTZ_RETURN_IF_ERROR(check_window(kernelSize));
        if (nbOutputMaps < 1) return invalid_argument("{} output maps", nbOutputMaps);
        auto* layer = add_layer<DeconvolutionLayer>(std::move(inputs), 1, nbOutputMaps, to_vector(kernelSize));
        layer->take(kernelWeights, biasWeights);
        return layer;
      });
}

}  // namespace wootz::api
