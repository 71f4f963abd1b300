// The network: inputs, outputs, layers, and what is said of them.
#include "adding.h"

using namespace nvinfer1;

namespace wootz_python {
namespace {

nb::object layer_at(nb::handle self, int64_t index) {
  auto& n = nb::cast<INetworkDefinition&>(self);
  const int64_t count = n.getNbLayers();
  if (index < 0) index += count;
  if (index < 0 || index >= count)
    throw nb::index_error(("layer " + std::to_string(index) + " of " + std::to_string(count)).c_str());
  return typed(n.getLayer(static_cast<int32_t>(index)), self);
}

// Inputs, outputs and layers as they are.
void bind_reading(Network& network) {
  network.def_prop_rw("name", &INetworkDefinition::getName, [](INetworkDefinition& n, const char* s) { n.setName(s); })
      .def_prop_ro("num_inputs", &INetworkDefinition::getNbInputs)
      .def_prop_ro("num_outputs", &INetworkDefinition::getNbOutputs)
      .def_prop_ro("num_layers", &INetworkDefinition::getNbLayers)
      .def_prop_ro("builder", &INetworkDefinition::getBuilder)
      .def_prop_ro("flags", &INetworkDefinition::getFlags)
      .def("get_flag", &INetworkDefinition::getFlag, nb::arg("flag"))
      .def_prop_ro("has_implicit_batch_dimension", &INetworkDefinition::hasImplicitBatchDimension)
      .def("get_input", &INetworkDefinition::getInput, nb::arg("index"), kInner)
      .def("get_output", &INetworkDefinition::getOutput, nb::arg("index"), kInner)
      .def(
          "get_layer",
          [](nb::handle self, int32_t index) {
            return typed(nb::cast<INetworkDefinition&>(self).getLayer(index), self);
          },
          nb::arg("index"))
      .def("__len__", &INetworkDefinition::getNbLayers)
      .def("__getitem__", &layer_at);
}

// Inputs, outputs, and tensors to be looked at.
void bind_marks(Network& network) {
  network.def("add_input", &INetworkDefinition::addInput, nb::arg("name"), nb::arg("dtype"), nb::arg("shape"), kInner)
      .def("mark_output", &INetworkDefinition::markOutput, nb::arg("tensor"))
      .def("unmark_output", &INetworkDefinition::unmarkOutput, nb::arg("tensor"))
      .def("mark_output_for_shapes", &INetworkDefinition::markOutputForShapes, nb::arg("tensor"))
      .def("unmark_output_for_shapes", &INetworkDefinition::unmarkOutputForShapes, nb::arg("tensor"))
      .def("mark_debug", &INetworkDefinition::markDebug, nb::arg("tensor"))
      .def("unmark_debug", &INetworkDefinition::unmarkDebug, nb::arg("tensor"))
      .def("is_debug_tensor", &INetworkDefinition::isDebugTensor, nb::arg("tensor"))
      .def("mark_unfused_tensors_as_debug_tensors", &INetworkDefinition::markUnfusedTensorsAsDebugTensors)
      .def("unmark_unfused_tensors_as_debug_tensors", &INetworkDefinition::unmarkUnfusedTensorsAsDebugTensors)
      .def("remove_tensor", &INetworkDefinition::removeTensor, nb::arg("tensor"));
}

// Weights that a refit may replace.
void bind_refitting(Network& network) {
  network
      .def(
          "set_weights_name",
          [](INetworkDefinition& n, nb::handle array, const char* name) {
            return n.setWeightsName(to_weights(array), name);
          },
          nb::arg("weights"), nb::arg("name"))
      .def("mark_weights_refittable", &INetworkDefinition::markWeightsRefittable, nb::arg("name"))
      .def("unmark_weights_refittable", &INetworkDefinition::unmarkWeightsRefittable, nb::arg("name"))
      .def("are_weights_marked_refittable", &INetworkDefinition::areWeightsMarkedRefittable, nb::arg("name"));
}

}  // namespace

void bind_network(nb::module_& m) {
  Network network(m, "INetworkDefinition");
  bind_reading(network);
  bind_marks(network);
  bind_refitting(network);
  bind_adding_weights(network);
  bind_adding_arithmetic(network);
  bind_adding_quantization(network);
  bind_adding_moves(network);
  bind_adding_sources(network);
  bind_adding_models(network);
}

}  // namespace wootz_python
