#include "plugin_fields.h"

#include <algorithm>
#include <cstring>

using namespace nvinfer1;

namespace wootz_python {
namespace {

constexpr size_t kBits[] = {16, 32, 64, 8, 16, 32, 8, sizeof(Dims) * 8, 8, 16, 64, 8, 4, 4};

size_t bits_of(PluginFieldType type) {
  const auto number = static_cast<size_t>(type);
  return number < std::size(kBits) ? kBits[number] : 8;
}

size_t bytes_of(PluginFieldType type, int32_t length) {
  return (bits_of(type) * static_cast<size_t>(std::max(length, 0)) + 7) / 8;
}

void set_bytes(Field& field, const void* bytes, size_t size) {
  field.data.assign(size / sizeof(uint64_t) + 1, 0);
  if (size > 0) std::memcpy(field.data.data(), bytes, size);
}

// An object of which the interpreter gives bytes: types that numpy knows from others alone do not say what they are.
nb::object with_buffer(nb::handle given) {
  if (PyUnicode_Check(given.ptr())) return nb::steal(PyUnicode_AsUTF8String(given.ptr()));
  return nb::object(plugin_classes().attr("_as_buffer")(given));
}

// The elements of what has a buffer: an array, bytes. Their size must be that of the field's type.
void set_data(Field& field, nb::handle given) {
  if (field.type == PluginFieldType::kDIMS && !PyObject_CheckBuffer(given.ptr())) {
    const Dims dims = nb::cast<Dims>(given);
    field.length = 1;
    return set_bytes(field, &dims, sizeof dims);
  }
  const nb::object buffer = with_buffer(given);
  Py_buffer view{};
  if (PyObject_GetBuffer(buffer.ptr(), &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) != 0) throw nb::python_error();
  const size_t size = static_cast<size_t>(view.len), bits = bits_of(field.type);
  const bool raw = field.type == PluginFieldType::kUNKNOWN || view.itemsize == 1;
  const bool fits = size == 0 || (size * 8 % bits == 0 && (raw || static_cast<size_t>(view.itemsize) * 8 == bits));
  if (fits) {
    set_bytes(field, view.buf, size);
    field.length = static_cast<int32_t>(size * 8 / bits);
  }
  const Py_ssize_t itemsize = view.itemsize;
  PyBuffer_Release(&view);
  if (!fits)
    throw nb::type_error(("field '" + field.name + "': elements of " + std::to_string(itemsize) +
                          " bytes, its type has " + std::to_string(bits / 8))
                             .c_str());
}

// Type and size can be set by themselves.
void check(const Field& f) {
  if (f.length == 0) return;
  if (f.length < 0 || bytes_of(f.type, f.length) > f.data.size() * sizeof(uint64_t))
    throw nb::value_error(("field '" + f.name + "': its data is not of its type and size").c_str());
}

nb::object data_of(const Field& f) {
  check(f);
  if (f.type == PluginFieldType::kDIMS) {
    nb::list all;
    for (int32_t i = 0; i < f.length; ++i) all.append(reinterpret_cast<const Dims*>(f.data.data())[i]);
    return f.length == 1 ? nb::object(all[0]) : nb::object(all);
  }
  const nb::bytes bytes(reinterpret_cast<const char*>(f.data.data()), f.data.empty() ? 0 : bytes_of(f.type, f.length));
  return nb::object(plugin_classes().attr("_field_data")(bytes, f.type));
}

Field to_field(const PluginField& given) {
  Field field{given.name == nullptr ? "" : given.name, given.type, given.length, {}};
  if (given.data != nullptr) set_bytes(field, given.data, bytes_of(given.type, given.length));
  return field;
}

}  // namespace

nb::object to_collection(const PluginFieldCollection* given) {
  nb::list fields;
  for (int32_t i = 0; given != nullptr && i < given->nbFields; ++i) fields.append(to_field(given->fields[i]));
  return nb::object(plugin_classes().attr("PluginFieldCollection")(fields));
}

Fields::Fields(nb::handle given) { assign(given); }

void Fields::assign(nb::handle given) {
  std::vector<Field> fields;
  for (nb::handle item : answered<nb::sequence>(given, "a PluginFieldCollection"))
    check(fields.emplace_back(answered<const Field&>(item, "a PluginField")));
  fields_ = std::move(fields);
}

const PluginFieldCollection* Fields::collection() {
  all_.clear();
  for (const Field& field : fields_)
    all_.emplace_back(field.name.c_str(), field.length == 0 ? nullptr : field.data.data(), field.type, field.length);
  collection_ = {static_cast<int32_t>(all_.size()), all_.data()};
  return &collection_;
}

void bind_plugin_fields(nb::module_& m) {
  nb::class_<Field>(m, "PluginField", "An attribute of a plugin: a name, values, and their type.")
      .def(
          "__init__",
          [](Field* field, const std::string& name, nb::handle data, PluginFieldType type) {
            new (field) Field{name, type, 0, {}};
            if (!data.is_none()) set_data(*field, data);
          },
          nb::arg("name") = "", nb::arg("data") = nb::none(), nb::arg("type") = PluginFieldType::kUNKNOWN)
      .def_rw("name", &Field::name)
      .def_prop_rw("data", &data_of, [](Field& f, nb::handle data) { set_data(f, data); })
      .def_rw("type", &Field::type)
      .def_rw("size", &Field::length)
      .def("__repr__", [](const Field& f) { return "<PluginField '" + f.name + "'>"; });
}

}  // namespace wootz_python
