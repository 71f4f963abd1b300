// Kinds that quantize.
#include "layer.h"

using namespace nvinfer1;

namespace wootz_python {
namespace {

template <class Kind>
void bind_with_scale(nb::module_& m, const char* name) {
  nb::class_<Kind, ILayer>(m, name)
      .def_prop_rw("axis", &Kind::getAxis, &Kind::setAxis)
      .def_prop_rw("block_shape", &Kind::getBlockShape, setter(&Kind::setBlockShape, "block_shape"))
      .def_prop_rw("to_type", &Kind::getToType, &Kind::setToType);
}

}  // namespace

void bind_quantization_layers(nb::module_& m) {
  bind_with_scale<IQuantizeLayer>(m, "IQuantizeLayer");
  bind_with_scale<IDequantizeLayer>(m, "IDequantizeLayer");
  nb::class_<IDynamicQuantizeLayer, ILayer>(m, "IDynamicQuantizeLayer")
      .def_prop_rw("axis", &IDynamicQuantizeLayer::getAxis, &IDynamicQuantizeLayer::setAxis)
      .def_prop_rw("block_size", &IDynamicQuantizeLayer::getBlockSize, &IDynamicQuantizeLayer::setBlockSize)
      .def_prop_rw("block_shape", &IDynamicQuantizeLayer::getBlockShape, &IDynamicQuantizeLayer::setBlockShape)
      .def_prop_rw("to_type", &IDynamicQuantizeLayer::getToType, &IDynamicQuantizeLayer::setToType)
      .def_prop_rw("scale_type", &IDynamicQuantizeLayer::getScaleType, &IDynamicQuantizeLayer::setScaleType);
}

}  // namespace wootz_python
