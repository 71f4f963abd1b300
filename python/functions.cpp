// Functions of the module that belong to no class.
#include "NvOnnxParser.h"
#include "casters.h"

namespace wootz_python {

void bind_functions(nb::module_& m) {
  m.def("get_nv_onnx_parser_version", [] { return ::getNvOnnxParserVersion(); });
}

}  // namespace wootz_python
