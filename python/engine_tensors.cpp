// Inputs and outputs of an engine.
#include "device.h"

using namespace nvinfer1;

namespace wootz_python {
namespace {

constexpr OptProfileSelector kAll[] = {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX};

// What depends on the tensor's format, of the first profile or of one that is named.
template <class Result>
void bind_by_profile(Engine& engine, const char* name, Result (ICudaEngine::*of_tensor)(const char*) const noexcept,
                     Result (ICudaEngine::*of_profile)(const char*, int32_t) const noexcept) {
  engine.def(name, of_tensor, nb::arg("name")).def(name, of_profile, nb::arg("name"), nb::arg("profile_index"));
}

void bind_formats(Engine& engine) {
  bind_by_profile<TensorFormat>(engine, "get_tensor_format", &ICudaEngine::getTensorFormat,
                                &ICudaEngine::getTensorFormat);
  bind_by_profile<const char*>(engine, "get_tensor_format_desc", &ICudaEngine::getTensorFormatDesc,
                               &ICudaEngine::getTensorFormatDesc);
  bind_by_profile<int32_t>(engine, "get_tensor_vectorized_dim", &ICudaEngine::getTensorVectorizedDim,
                           &ICudaEngine::getTensorVectorizedDim);
  bind_by_profile<int32_t>(engine, "get_tensor_components_per_element", &ICudaEngine::getTensorComponentsPerElement,
                           &ICudaEngine::getTensorComponentsPerElement);
  bind_by_profile<int32_t>(engine, "get_tensor_bytes_per_component", &ICudaEngine::getTensorBytesPerComponent,
                           &ICudaEngine::getTensorBytesPerComponent);
}

std::vector<Dims> profile_shapes(const ICudaEngine& e, const char* name, int32_t profile) {
  std::vector<Dims> shapes;
  for (const OptProfileSelector which : kAll) shapes.push_back(e.getProfileShape(name, profile, which));
  return shapes;
}

// Of a shape tensor, whose volume the profile's shape says.
std::vector<std::vector<int64_t>> profile_values(const ICudaEngine& e, const char* name, int32_t profile) {
  std::vector<std::vector<int64_t>> all;
  const Dims shape = e.getTensorShape(name);
  int64_t count = 1;
  for (int32_t i = 0; i < shape.nbDims; ++i) count *= shape.d[i];
  for (const OptProfileSelector which : kAll)
    if (const int64_t* const values = e.getProfileTensorValuesV2(name, profile, which); values != nullptr && count >= 0)
      all.emplace_back(values, values + count);
  return all;
}

std::string name_at(const ICudaEngine& e, int64_t index) {
  const int64_t count = e.getNbIOTensors();
  if (index < 0) index += count;
  if (index < 0 || index >= count)
    throw nb::index_error(("tensor " + std::to_string(index) + " of " + std::to_string(count)).c_str());
  return e.getIOTensorName(static_cast<int32_t>(index));
}

}  // namespace

void bind_engine_tensors(Engine& engine) {
  engine.def_prop_ro("num_io_tensors", &ICudaEngine::getNbIOTensors)
      .def("get_tensor_name", &ICudaEngine::getIOTensorName, nb::arg("index"))
      .def("get_tensor_mode", &ICudaEngine::getTensorIOMode, nb::arg("name"))
      .def("get_tensor_shape", &ICudaEngine::getTensorShape, nb::arg("name"))
      .def("_get_tensor_dtype_number",
           [](const ICudaEngine& e, const char* n) { return static_cast<int>(e.getTensorDataType(n)); })
      .def("get_tensor_dtype", &ICudaEngine::getTensorDataType, nb::arg("name"))
      .def("get_tensor_location", &ICudaEngine::getTensorLocation, nb::arg("name"))
      .def("get_aliased_input_tensor", &ICudaEngine::getAliasedInputTensor, nb::arg("name"))
      .def("is_shape_inference_io", &ICudaEngine::isShapeInferenceIO, nb::arg("name"))
      .def("get_tensor_profile_shape", &profile_shapes, nb::arg("name"), nb::arg("profile_index"))
      .def("get_tensor_profile_values", &profile_values, nb::arg("name"), nb::arg("profile_index"))
      .def(
          "get_tensor_profile_values",  // TensorRT's order, by types
          [](const ICudaEngine& e, int32_t index, const char* name) { return profile_values(e, name, index); },
          nb::arg("name"), nb::arg("profile_index"))
      .def("is_debug_tensor", &ICudaEngine::isDebugTensor, nb::arg("name"))
      .def("__len__", &ICudaEngine::getNbIOTensors)
      .def("__getitem__", &name_at)
      .def("__iter__", [](const ICudaEngine& e) {
        nb::list names;
        for (int32_t i = 0; i < e.getNbIOTensors(); ++i) names.append(e.getIOTensorName(i));
        return nb::iter(names);
      });
  bind_formats(engine);
}

}  // namespace wootz_python
