// Loops and conditionals.
#include "layer.h"

using namespace nvinfer1;

namespace wootz_python {
namespace {

void bind_loop(nb::module_& m) {
  nb::class_<ILoop>(m, "ILoop")
      .def_prop_rw("name", &ILoop::getName, [](ILoop& l, const char* name) { l.setName(name); })
      .def("add_recurrence", &ILoop::addRecurrence, nb::arg("initial_value"), kInner)
      .def("add_trip_limit", &ILoop::addTripLimit, nb::arg("tensor"), nb::arg("kind"), kInner)
      .def("add_iterator", &ILoop::addIterator, nb::arg("tensor"), nb::arg("axis") = 0, nb::arg("reverse") = false,
           kInner)
      .def("add_loop_output", &ILoop::addLoopOutput, nb::arg("tensor"), nb::arg("kind"), nb::arg("axis") = 0, kInner);
  nb::class_<ILoopBoundaryLayer, ILayer>(m, "ILoopBoundaryLayer")
      .def_prop_ro("loop", &ILoopBoundaryLayer::getLoop, kInner);
  nb::class_<IRecurrenceLayer, ILoopBoundaryLayer>(m, "IRecurrenceLayer");
  nb::class_<ILoopOutputLayer, ILoopBoundaryLayer>(m, "ILoopOutputLayer")
      .def_prop_rw("axis", &ILoopOutputLayer::getAxis, &ILoopOutputLayer::setAxis)
      .def_prop_ro("kind", &ILoopOutputLayer::getLoopOutput);
  nb::class_<ITripLimitLayer, ILoopBoundaryLayer>(m, "ITripLimitLayer")
      .def_prop_ro("kind", &ITripLimitLayer::getTripLimit);
  nb::class_<IIteratorLayer, ILoopBoundaryLayer>(m, "IIteratorLayer")
      .def_prop_rw("axis", &IIteratorLayer::getAxis, &IIteratorLayer::setAxis)
      .def_prop_rw("reverse", &IIteratorLayer::getReverse, &IIteratorLayer::setReverse);
}

void bind_conditional(nb::module_& m) {
  nb::class_<IIfConditional>(m, "IIfConditional")
      .def_prop_rw("name", &IIfConditional::getName, [](IIfConditional& c, const char* name) { c.setName(name); })
      .def("set_condition", &IIfConditional::setCondition, nb::arg("condition"), kInner)
      .def("add_output", &IIfConditional::addOutput, nb::arg("true_subgraph_output"), nb::arg("false_subgraph_output"),
           kInner)
      .def("add_input", &IIfConditional::addInput, nb::arg("input"), kInner);
  nb::class_<IIfConditionalBoundaryLayer, ILayer>(m, "IIfConditionalBoundaryLayer")
      .def_prop_ro("conditional", &IIfConditionalBoundaryLayer::getConditional, kInner);
  nb::class_<IConditionLayer, IIfConditionalBoundaryLayer>(m, "IConditionLayer");
  nb::class_<IIfConditionalInputLayer, IIfConditionalBoundaryLayer>(m, "IIfConditionalInputLayer");
  nb::class_<IIfConditionalOutputLayer, IIfConditionalBoundaryLayer>(m, "IIfConditionalOutputLayer");
}

}  // namespace

void bind_control_layers(nb::module_& m) {
  bind_loop(m);
  bind_conditional(m);
}

}  // namespace wootz_python
