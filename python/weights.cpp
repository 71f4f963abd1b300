// Weights: numbers of a network, as an object that knows its type, and as numpy arrays.
#include "weights.h"

#include <nanobind/ndarray.h>

using namespace nvinfer1;

namespace wootz_python {
namespace {

// Bits of an element, and what numpy calls it, or ml_dtypes where numpy has no such type.
struct ElementType {
  DataType type;
  int bits;
  const char* name;
  bool in_numpy;
};

constexpr ElementType kElementTypes[] = {
    {DataType::kFLOAT, 32, "float32", true},     {DataType::kHALF, 16, "float16", true},
    {DataType::kINT8, 8, "int8", true},          {DataType::kINT32, 32, "int32", true},
    {DataType::kBOOL, 8, "bool", true},          {DataType::kUINT8, 8, "uint8", true},
    {DataType::kINT64, 64, "int64", true},       {DataType::kBF16, 16, "bfloat16", false},
    {DataType::kFP8, 8, "float8_e4m3fn", false}, {DataType::kE8M0, 8, "float8_e8m0fnu", false},
    {DataType::kINT4, 4, "int4", false},         {DataType::kFP4, 4, "float4_e2m1fn", false},
};

const ElementType& element(DataType type) {
  for (const ElementType& each : kElementTypes)
    if (each.type == type) return each;
  throw nb::type_error("weights of a type that has no name in Python");
}

// An array of numpy's: its type by the name that numpy, or ml_dtypes, gives it.
Weights of_array(nb::handle array) {
  const nb::object flags = array.attr("flags");
  if (!nb::cast<bool>(flags.attr("c_contiguous"))) throw nb::type_error("weights must be a C-contiguous numpy array");
  const auto name = nb::cast<std::string>(array.attr("dtype").attr("name"));
  for (const ElementType& each : kElementTypes)
    if (name == each.name && each.bits >= 8)
      return {each.type, reinterpret_cast<const void*>(nb::cast<size_t>(array.attr("ctypes").attr("data"))),
              nb::cast<int64_t>(array.attr("size"))};
  throw nb::type_error(("weights of dtype " + name + " are not supported").c_str());
}

bool is_array(nb::handle object) { return nb::isinstance(object, nb::module_::import_("numpy").attr("ndarray")); }

nb::object to_numpy(const PyWeights& self) {
  const ElementType& type = element(self.weights.type);
  const bool packed = type.bits < 8;
  if (self.weights.values == nullptr && self.weights.count > 0)
    throw nb::value_error("these weights have a type and a size, and no values");
  const nb::module_ numpy = nb::module_::import_("numpy");
  const auto bytes = static_cast<size_t>((self.weights.count * type.bits + 7) / 8);
  nb::ndarray<nb::numpy, const uint8_t, nb::ndim<1>> view(self.weights.values, {bytes}, self.owner);
  const nb::object raw = view.cast(nb::rv_policy::reference);
  if (packed) return raw;  // two elements a byte, the first in the lower bits
  const nb::module_ types = type.in_numpy ? numpy : nb::module_::import_("ml_dtypes");
  return raw.attr("view")(numpy.attr("dtype")(types.attr(std::string(type.name) == "bool" ? "bool_" : type.name)));
}

size_t bytes_of(const PyWeights& self) {
  return static_cast<size_t>((self.weights.count * element(self.weights.type).bits + 7) / 8);
}

}  // namespace

Weights to_weights(nb::handle given) {
  if (given.is_none()) return {DataType::kFLOAT, nullptr, 0};
  if (nb::isinstance<PyWeights>(given)) return nb::cast<PyWeights&>(given).weights;
  if (is_array(given)) return of_array(given);
  HostArray view;
  if (!nb::try_cast<HostArray>(given, view)) throw nb::type_error("weights are a numpy array, or Weights");
  return {to_data_type(view.dtype(), "weights of this dtype are not supported"), view.data(),
          static_cast<int64_t>(view.size())};
}

nb::object from_weights(const Weights& weights, nb::handle owner) {
  PyWeights made{weights, nb::borrow(owner)};
  const bool shown = weights.values != nullptr && element(weights.type).in_numpy;
  return shown ? to_numpy(made) : nb::cast(std::move(made));
}

void bind_weights(nb::module_& m) {
  nb::class_<PyWeights>(
      m, "Weights", "Numbers of a network: a type, and as many elements in memory that lives as long as this object.")
      .def(
          "__init__",
          [](PyWeights* self, DataType type) {
            new (self) PyWeights{{type, nullptr, 0}, {}};
          },
          nb::arg("type") = DataType::kFLOAT)
      .def(
          "__init__",
          [](PyWeights* self, DataType type, size_t address, int64_t count) {
            if (count < 0) throw nb::value_error("the count of weights is negative");
            new (self) PyWeights{{type, reinterpret_cast<const void*>(address), count}, {}};
          },
          nb::arg("type"), nb::arg("ptr"), nb::arg("count"), "Elements at an address, which the caller keeps alive.")
      .def(
          "__init__",
          [](PyWeights* self, nb::object array) {
            new (self) PyWeights{to_weights(array), array};
          },
          nb::arg("a"))
      .def_prop_ro("dtype", [](const PyWeights& self) { return self.weights.type; })
      .def_prop_ro("size", [](const PyWeights& self) { return self.weights.count; })
      .def_prop_ro("nbytes", &bytes_of)
      .def("numpy", &to_numpy, "An array of these elements in their place; of four bits each, their bytes.")
      .def("__len__", [](const PyWeights& self) { return self.weights.count; });
}

}  // namespace wootz_python
