// Tensors of a network.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include "adding.h"

using namespace nvinfer1;

namespace wootz_python {
namespace {

#if NV_TENSORRT_MAJOR < 11
// (min, max), or None.
nb::object range_of(const ITensor& tensor) {
  if (!tensor.dynamicRangeIsSet()) return nb::none();
  return nb::make_tuple(tensor.getDynamicRangeMin(), tensor.getDynamicRangeMax());
}

void set_range(ITensor& tensor, std::pair<float, float> range) {
  if (!tensor.setDynamicRange(range.first, range.second))
    throw nb::value_error((std::string("'") + tensor.getName() + "': this is no range: see the log").c_str());
}
#endif

void bind_type(nb::class_<ITensor>& tensor) {
#if NV_TENSORRT_MAJOR < 11
  tensor.def_prop_rw("dtype", &ITensor::getType, &ITensor::setType)
      .def_prop_rw("dynamic_range", &range_of, &set_range)
      .def("set_dynamic_range", &ITensor::setDynamicRange, nb::arg("min"), nb::arg("max"))
      .def("reset_dynamic_range", &ITensor::resetDynamicRange);
#else
  tensor.def_prop_ro("dtype", &ITensor::getType);
#endif
}

}  // namespace

void bind_tensor(nb::module_& m) {
  nb::class_<ITensor> tensor(m, "ITensor");
  bind_type(tensor);
  tensor.def_prop_rw("name", &ITensor::getName, [](ITensor& t, const char* name) { t.setName(name); })
      .def_prop_rw("shape", &ITensor::getDimensions, [](ITensor& t, const Dims& dims) { t.setDimensions(dims); })
      .def_prop_ro("is_network_input", &ITensor::isNetworkInput)
      .def_prop_ro("is_network_output", &ITensor::isNetworkOutput)
      .def_prop_ro("is_shape_tensor", &ITensor::isShapeTensor)
      .def_prop_ro("is_execution_tensor", &ITensor::isExecutionTensor)
      .def_prop_rw("location", &ITensor::getLocation, &ITensor::setLocation)
      .def_prop_rw("broadcast_across_batch", &ITensor::getBroadcastAcrossBatch, &ITensor::setBroadcastAcrossBatch)
      .def_prop_rw("allowed_formats", &ITensor::getAllowedFormats, &ITensor::setAllowedFormats)
      .def("set_dimension_name", &ITensor::setDimensionName, nb::arg("index"), nb::arg("name"))
      .def("get_dimension_name", &ITensor::getDimensionName, nb::arg("index"))
      .def("__repr__", [](const ITensor& t) { return std::string("<ITensor '") + t.getName() + "'>"; });
}

}  // namespace wootz_python
