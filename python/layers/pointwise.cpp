// Kinds that treat each element alone, or by its channel or its neighbours in other channels.
#include "layer.h"

using namespace nvinfer1;

namespace wootz_python {
namespace {

void bind_scale(nb::module_& m) {
  nb::class_<IScaleLayer, ILayer> layer(m, "IScaleLayer", nb::dynamic_attr());
  layer.def_prop_rw("mode", &IScaleLayer::getMode, &IScaleLayer::setMode)
      .def_prop_rw("channel_axis", &IScaleLayer::getChannelAxis, &IScaleLayer::setChannelAxis);
  bind_weights_property(layer, "shift", &IScaleLayer::getShift, &IScaleLayer::setShift);
  bind_weights_property(layer, "scale", &IScaleLayer::getScale, &IScaleLayer::setScale);
  bind_weights_property(layer, "power", &IScaleLayer::getPower, &IScaleLayer::setPower);
}

}  // namespace

void bind_pointwise_layers(nb::module_& m) {
  nb::class_<IActivationLayer, ILayer>(m, "IActivationLayer")
      .def_prop_rw("type", &IActivationLayer::getActivationType, &IActivationLayer::setActivationType)
      .def_prop_rw("alpha", &IActivationLayer::getAlpha, &IActivationLayer::setAlpha)
      .def_prop_rw("beta", &IActivationLayer::getBeta, &IActivationLayer::setBeta);
  bind_scale(m);
  nb::class_<IElementWiseLayer, ILayer>(m, "IElementWiseLayer")
      .def_prop_rw("op", &IElementWiseLayer::getOperation, &IElementWiseLayer::setOperation);
  nb::class_<IUnaryLayer, ILayer>(m, "IUnaryLayer")
      .def_prop_rw("op", &IUnaryLayer::getOperation, &IUnaryLayer::setOperation);
  nb::class_<ICastLayer, ILayer>(m, "ICastLayer")
      .def_prop_rw("to_type", &ICastLayer::getToType, &ICastLayer::setToType);
  nb::class_<ILRNLayer, ILayer>(m, "ILRNLayer")
      .def_prop_rw("window_size", &ILRNLayer::getWindowSize, &ILRNLayer::setWindowSize)
      .def_prop_rw("alpha", &ILRNLayer::getAlpha, &ILRNLayer::setAlpha)
      .def_prop_rw("beta", &ILRNLayer::getBeta, &ILRNLayer::setBeta)
      .def_prop_rw("k", &ILRNLayer::getK, &ILRNLayer::setK);
  nb::class_<IIdentityLayer, ILayer>(m, "IIdentityLayer");
  nb::class_<ISelectLayer, ILayer>(m, "ISelectLayer");
  nb::class_<IParametricReLULayer, ILayer>(m, "IParametricReLULayer");
}

}  // namespace wootz_python
