// Enumerations, with TensorRT's Python names: the table enums.def.
#define WOOTZ_NO_DEPRECATION
#include "casters.h"

using namespace nvinfer1;

namespace wootz_python {

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

void bind_enums(nb::module_& m) {
#define VALUE(name) .value(#name, E::k##name)
#define ENUM(Type, values)                              \
  {                                                     \
    using E = Type;                                     \
    nb::enum_<E>(m, #Type, nb::is_arithmetic()) values; \
  }
#include "enums.def"
#undef ENUM
#undef VALUE
  m.attr("ResizeMode") = m.attr("InterpolationMode");
}

}  // namespace wootz_python
