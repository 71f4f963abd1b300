// Kinds that make values, and one that judges them.
#include "layer.h"

using namespace nvinfer1;

namespace wootz_python {
namespace {

// A number of a fill layer: one of 64 bits where an integer is given and the layer's type is kINT64.
struct FillNumber {
  double (IFillLayer::*get)() const noexcept;
  void (IFillLayer::*set)(double) noexcept;
  int64_t (IFillLayer::*get_int64)() const noexcept;
  void (IFillLayer::*set_int64)(int64_t) noexcept;
};

template <class Class>
void bind_number(Class& layer, const char* name, FillNumber number) {
  layer.def_prop_rw(
      name,
      [number](const IFillLayer& l) -> nb::object {
        if (l.isAlphaBetaInt64()) return nb::int_((l.*number.get_int64)());
        return nb::float_((l.*number.get)());
      },
      [number](IFillLayer& l, nb::object value) {
        const bool wide = l.getToType() == DataType::kINT64 && PyLong_Check(value.ptr());
        if (wide)
          (l.*number.set_int64)(nb::cast<int64_t>(value));
        else
          (l.*number.set)(nb::cast<double>(value));
      });
}

void bind_fill(nb::module_& m) {
  nb::class_<IFillLayer, ILayer> layer(m, "IFillLayer");
  layer.def_prop_rw("shape", &IFillLayer::getDimensions, &IFillLayer::setDimensions)
      .def_prop_rw("operation", &IFillLayer::getOperation, &IFillLayer::setOperation)
      .def_prop_rw("to_type", &IFillLayer::getToType, &IFillLayer::setToType)
      .def("set_alpha_int64", &IFillLayer::setAlphaInt64, nb::arg("alpha"))
      .def("set_beta_int64", &IFillLayer::setBetaInt64, nb::arg("beta"))
      .def("is_alpha_beta_int64", &IFillLayer::isAlphaBetaInt64);
  bind_number(layer, "alpha",
              {&IFillLayer::getAlpha, &IFillLayer::setAlpha, &IFillLayer::getAlphaInt64, &IFillLayer::setAlphaInt64});
  bind_number(layer, "beta",
              {&IFillLayer::getBeta, &IFillLayer::setBeta, &IFillLayer::getBetaInt64, &IFillLayer::setBetaInt64});
}

}  // namespace

void bind_source_layers(nb::module_& m) {
  nb::class_<IConstantLayer, ILayer> constant(m, "IConstantLayer", nb::dynamic_attr());
  constant.def_prop_rw("shape", &IConstantLayer::getDimensions, &IConstantLayer::setDimensions);
  bind_weights_property(constant, "weights", &IConstantLayer::getWeights, &IConstantLayer::setWeights);
  bind_fill(m);
  nb::class_<IAssertionLayer, ILayer>(m, "IAssertionLayer")
      .def_prop_rw("message", &IAssertionLayer::getMessage,
                   [](IAssertionLayer& l, const char* message) { l.setMessage(message); });
  nb::class_<IDistCollectiveLayer, ILayer>(m, "IDistCollectiveLayer");
}

}  // namespace wootz_python
