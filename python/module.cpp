// The extension module, _wootz at level 10 of the API and _wootz_11 at level 11: TensorRT's Python names over the C++
// API. One file a topic.
#include "casters.h"
#include "wootz/extensions.h"

namespace wootz_python {

nvinfer1::DataType to_data_type(nb::dlpack::dtype dtype, const char* what) {
  using nvinfer1::DataType;
  const auto code = static_cast<nb::dlpack::dtype_code>(dtype.code);
  if (dtype.lanes == 1) {
    if (code == nb::dlpack::dtype_code::Float && dtype.bits == 32) return DataType::kFLOAT;
    if (code == nb::dlpack::dtype_code::Float && dtype.bits == 16) return DataType::kHALF;
    if (code == nb::dlpack::dtype_code::Bfloat && dtype.bits == 16) return DataType::kBF16;
    if (code == nb::dlpack::dtype_code::Int && dtype.bits == 8) return DataType::kINT8;
    if (code == nb::dlpack::dtype_code::Int && dtype.bits == 32) return DataType::kINT32;
    if (code == nb::dlpack::dtype_code::Int && dtype.bits == 64) return DataType::kINT64;
    if (code == nb::dlpack::dtype_code::UInt && dtype.bits == 8) return DataType::kUINT8;
    if (code == nb::dlpack::dtype_code::Bool) return DataType::kBOOL;
  }
  throw nb::type_error(what);
}

void keep_array(nb::handle owner, nb::handle array) {
  if (!array.is_none()) nb::keep_alive_obj(owner, array);
}

}  // namespace wootz_python

NB_MODULE(WOOTZ_MODULE, m) {
  nb::set_leak_warnings(false);  // objects alive at interpreter exit are the user's business
  wootz_python::bind_enums(m);
  wootz_python::bind_dims(m);
  wootz_python::bind_weights(m);
  wootz_python::bind_callbacks(m);
  wootz_python::bind_tensor(m);
  wootz_python::bind_layers(m);
  wootz_python::bind_network(m);
  wootz_python::bind_calibrators(m);
  wootz_python::bind_builder(m);
  wootz_python::bind_parser(m);
  wootz_python::bind_device(m);
  wootz_python::bind_context(m);
  wootz_python::bind_infer(m);
  wootz_python::bind_tensor_call(m);
  wootz_python::bind_same_tensors(m);
  wootz_python::bind_runtime(m);
  wootz_python::bind_refitter(m);
  wootz_python::bind_plugins(m);
  wootz_python::bind_functions(m);
  wootz_python::bind_tools(m);
  wootz_python::attach_callbacks(m);
  m.def("_machine", [] {
    const char* const text = wootz_machine();
    if (text == nullptr) throw std::runtime_error("this machine cannot be described");
    return std::string(text);
  });
  m.attr("__tensorrt_version__") = nb::make_tuple(NV_TENSORRT_MAJOR, NV_TENSORRT_MINOR, NV_TENSORRT_PATCH);
}
