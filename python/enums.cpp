// Enumerations, with TensorRT's Python names: the table enums.def.
#define WOOTZ_NO_DEPRECATION
#include "NvInferPlugin.h"
#include "NvOnnxParser.h"
#include "casters.h"
#include "wootz/plugin_quick.h"

using namespace nvinfer1;

namespace wootz_python {

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#if NV_TENSORRT_MAJOR < 11
#define ONLY_10(text) text
#define ONLY_11(text)
#else
#define ONLY_10(text)
#define ONLY_11(text) text
#endif

void bind_enums(nb::module_& m) {
#define VALUE_AS(name, cpp_name) .value(#name, E::cpp_name)
#define VALUE(name) VALUE_AS(name, k##name)
#define VALUE_10(name) ONLY_10(VALUE(name))
#define VALUE_11(name) ONLY_11(VALUE(name))
#define VALUE_AS_10(name, cpp_name) ONLY_10(VALUE_AS(name, cpp_name))
#define ENUM_AS(name, Type, values)                     \
  {                                                     \
    using E = Type;                                     \
    nb::enum_<E>(m, #name, nb::is_arithmetic()) values; \
  }
#define ENUM(Type, values) ENUM_AS(Type, Type, values)
#define ENUM_10(Type, values) ONLY_10(ENUM(Type, values))
#define ENUM_11(Type, values) ONLY_11(ENUM(Type, values))
#include "enums.def"
#undef ENUM_11
#undef ENUM_10
#undef ENUM
#undef ENUM_AS
#undef VALUE_AS_10
#undef VALUE_11
#undef VALUE_10
#undef VALUE
#undef VALUE_AS
  m.attr("ResizeMode") = m.attr("InterpolationMode");
}

}  // namespace wootz_python
