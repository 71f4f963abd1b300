// Layers in general, and the list of their kinds.
#include "layer.h"

using namespace nvinfer1;

namespace wootz_python {
namespace {

constexpr auto kOfLayer = nb::rv_policy::reference_internal;

void set_ranks(ILayer& layer, int32_t ranks) {
  if (!layer.setNbRanks(ranks))
    throw nb::value_error(
        ("layer '" + std::string(layer.getName()) + "' cannot have " + std::to_string(ranks) + " ranks: see the log")
            .c_str());
}

void bind_layer(nb::module_& m) {
  nb::class_<ILayer>(m, "ILayer")
      .def_prop_rw("name", &ILayer::getName, [](ILayer& l, const char* name) { l.setName(name); })
      .def_prop_ro("type", &ILayer::getType)
      .def_prop_ro("num_inputs", &ILayer::getNbInputs)
      .def_prop_ro("num_outputs", &ILayer::getNbOutputs)
      .def("get_input", &ILayer::getInput, nb::arg("index"), kOfLayer)
      .def("get_output", &ILayer::getOutput, nb::arg("index"), kOfLayer)
      .def("set_input", &ILayer::setInput, nb::arg("index"), nb::arg("tensor"))
#if NV_TENSORRT_MAJOR < 11
      .def_prop_rw("precision", &ILayer::getPrecision, &ILayer::setPrecision)
      .def_prop_ro("precision_is_set", &ILayer::precisionIsSet)
      .def("reset_precision", &ILayer::resetPrecision)
      .def("set_output_type", &ILayer::setOutputType, nb::arg("index"), nb::arg("dtype"))
      .def("output_type_is_set", &ILayer::outputTypeIsSet, nb::arg("index"))
      .def("reset_output_type", &ILayer::resetOutputType, nb::arg("index"))
#endif
      .def("get_output_type", &ILayer::getOutputType, nb::arg("index"))
      .def_prop_rw("metadata", &ILayer::getMetadata, &ILayer::setMetadata)
      .def_prop_rw("num_ranks", &ILayer::getNbRanks, &set_ranks)
      .def("__repr__", [](const ILayer& l) { return std::string("<ILayer '") + l.getName() + "'>"; });
}

}  // namespace

void bind_layers(nb::module_& m) {
  bind_layer(m);
  bind_window_layers(m);
  bind_pointwise_layers(m);
  bind_quantization_layers(m);
  bind_reduction_layers(m);
  bind_moving_layers(m);
  bind_indexing_layers(m);
  bind_source_layers(m);
  bind_attention_layers(m);
  bind_expert_layers(m);
  bind_control_layers(m);
}

}  // namespace wootz_python
