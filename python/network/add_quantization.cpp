// Layers that quantize. At level 10 the type of a result may be left to the layer.
#include "adding.h"

using namespace nvinfer1;

namespace wootz_python {

void bind_adding_quantization(Network& network) {
  using N = INetworkDefinition;
#if NV_TENSORRT_MAJOR < 11
  network
      .def("add_quantize", nb::overload_cast<ITensor&, ITensor&>(&N::addQuantize), nb::arg("input"), nb::arg("scale"),
           kInner)
      .def("add_dequantize", nb::overload_cast<ITensor&, ITensor&>(&N::addDequantize), nb::arg("input"),
           nb::arg("scale"), kInner);
#endif
  network
      .def(
          "add_quantize",
          [](N& n, ITensor& input, ITensor& scale, DataType type) { return n.addQuantize(input, scale, type); },
          nb::arg("input"), nb::arg("scale"), nb::arg("output_type"), kInner)
      .def(
          "add_dequantize",
          [](N& n, ITensor& input, ITensor& scale, DataType type) { return n.addDequantize(input, scale, type); },
          nb::arg("input"), nb::arg("scale"), nb::arg("output_type"), kInner)
      .def("add_dynamic_quantize", &N::addDynamicQuantize, nb::arg("input"), nb::arg("axis"), nb::arg("block_size"),
           nb::arg("output_type"), nb::arg("scale_type"), kInner)
      .def("add_dynamic_quantize_v2", &N::addDynamicQuantizeV2, nb::arg("input"), nb::arg("block_shape"),
           nb::arg("output_type"), nb::arg("scale_type"), kInner);
}

}  // namespace wootz_python
