// Dims with its kinds, and Permutation: classes that are sequences. Functions take any sequence of integers in their
// place.
#include "casters.h"

using namespace nvinfer1;

namespace wootz_python {
namespace {

// Shapes of fixed rank.
struct PyDims2 : PyDims {};
struct PyDimsHW : PyDims2 {};
struct PyDims3 : PyDims {};
struct PyDims4 : PyDims {};

struct PyPermutation {
  Permutation permutation{};
};

nb::tuple as_tuple(const PyDims& self) {
  if (self.dims.nbDims < 0) throw nb::value_error("the rank of this shape is not known");
  nb::list all;
  for (int32_t i = 0; i < self.dims.nbDims; ++i) all.append(self.dims.d[i]);
  return nb::tuple(all);
}

size_t place_of(int64_t index, int64_t count) {
  if (index < 0) index += count;
  if (index < 0 || index >= count)
    throw nb::index_error(("index " + std::to_string(index) + " of " + std::to_string(count) + " dimensions").c_str());
  return static_cast<size_t>(index);
}

bool equal(nb::handle self, nb::handle other) {
  if (!PySequence_Check(other.ptr()) || PyUnicode_Check(other.ptr())) return false;
  if (nb::cast<PyDims&>(self).dims.nbDims < 0)
    return nb::isinstance<PyDims>(other) && nb::cast<PyDims&>(other).dims.nbDims < 0;
  if (nb::isinstance<PyDims>(other) && nb::cast<PyDims&>(other).dims.nbDims < 0) return false;
  return as_tuple(nb::cast<PyDims&>(self)).equal(nb::tuple(nb::borrow(other)));
}

Dims of_rank(const Dims& given, int32_t rank) {
  if (given.nbDims != rank)
    throw nb::value_error(
        (std::to_string(rank) + " dimensions are wanted, " + std::to_string(given.nbDims) + " given").c_str());
  return given;
}

Dims zeros(int32_t rank) {
  Dims dims{};
  dims.nbDims = rank;
  return dims;
}

template <class T>
auto bind_fixed(nb::module_& m, const char* name, int32_t rank) {
  using Base = std::conditional_t<std::is_same_v<T, PyDimsHW>, PyDims2, PyDims>;
  return nb::class_<T, Base>(m, name)
      .def("__init__", [rank](T* self) { new (self) T{{zeros(rank)}}; })
      .def(
          "__init__", [rank](T* self, Dims shape) { new (self) T{{of_rank(shape, rank)}}; }, nb::arg("shape"));
}

void set_slice(PyDims& self, nb::slice at, const Dims& values) {
  const auto [start, stop, step, count] = at.compute(static_cast<size_t>(std::max(self.dims.nbDims, 0)));
  if (static_cast<int64_t>(count) != values.nbDims)
    throw nb::value_error(
        (std::to_string(count) + " dimensions are replaced by " + std::to_string(values.nbDims)).c_str());
  for (size_t i = 0; i < count; ++i)
    self.dims.d[static_cast<int64_t>(start) + static_cast<int64_t>(i) * static_cast<int64_t>(step)] = values.d[i];
}

void bind_dims_class(nb::module_& m) {
  nb::class_<PyDims> dims(
      m, "Dims", "A shape: a sequence of at most 8 integers. len() of one whose rank is not known raises ValueError.");
  dims.def(nb::init<>())
      .def(
          "__init__", [](PyDims* self, Dims shape) { new (self) PyDims{shape}; }, nb::arg("shape"))
      .def("__len__",
           [](const PyDims& self) {
             if (self.dims.nbDims < 0) throw nb::value_error("the rank of this shape is not known");
             return self.dims.nbDims;
           })
      .def("__getitem__",
           [](const PyDims& self, int64_t index) { return self.dims.d[place_of(index, self.dims.nbDims)]; })
      .def("__getitem__",
           [](const PyDims& self, nb::slice at) { return nb::steal(PyObject_GetItem(as_tuple(self).ptr(), at.ptr())); })
      .def("__setitem__",
           [](PyDims& self, int64_t index, int64_t value) { self.dims.d[place_of(index, self.dims.nbDims)] = value; })
      .def("__setitem__", &set_slice)
      .def("__iter__", [](const PyDims& self) { return nb::iter(as_tuple(self)); })
      .def("__add__", [](const PyDims& self, nb::sequence other) { return as_tuple(self) + nb::tuple(other); })
      .def("__radd__", [](const PyDims& self, nb::sequence other) { return nb::tuple(other) + as_tuple(self); })
      .def(
          "__eq__", [](nb::handle self, nb::handle other) { return equal(self, other); }, nb::arg("other").none())
      .def(
          "__ne__", [](nb::handle self, nb::handle other) { return !equal(self, other); }, nb::arg("other").none())
      .def("__hash__", [](const PyDims& self) { return nb::hash(as_tuple(self)); })
      .def("__repr__", [](const PyDims& self) {
        return self.dims.nbDims < 0 ? nb::str("(rank not known)") : nb::str(nb::repr(as_tuple(self)));
      });
  dims.attr("MAX_DIMS") = nb::int_(Dims::MAX_DIMS);
}

void bind_fixed_ranks(nb::module_& m) {
  bind_fixed<PyDims2>(m, "Dims2", 2)
      .def(
          "__init__",
          [](PyDims2* self, int64_t a, int64_t b) {
            new (self) PyDims2{{Dims{2, {a, b}}}};
          },
          nb::arg("dim0"), nb::arg("dim1"));
  bind_fixed<PyDimsHW>(m, "DimsHW", 2)
      .def(
          "__init__",
          [](PyDimsHW* self, int64_t h, int64_t w) {
            new (self) PyDimsHW{{{Dims{2, {h, w}}}}};
          },
          nb::arg("h"), nb::arg("w"))
      .def_prop_rw(
          "h", [](const PyDimsHW& self) { return self.dims.d[0]; },
          [](PyDimsHW& self, int64_t h) { self.dims.d[0] = h; })
      .def_prop_rw(
          "w", [](const PyDimsHW& self) { return self.dims.d[1]; },
          [](PyDimsHW& self, int64_t w) { self.dims.d[1] = w; });
  bind_fixed<PyDims3>(m, "Dims3", 3)
      .def(
          "__init__",
          [](PyDims3* self, int64_t a, int64_t b, int64_t c) {
            new (self) PyDims3{{Dims{3, {a, b, c}}}};
          },
          nb::arg("dim0"), nb::arg("dim1"), nb::arg("dim2"));
  bind_fixed<PyDims4>(m, "Dims4", 4)
      .def(
          "__init__",
          [](PyDims4* self, int64_t a, int64_t b, int64_t c, int64_t d) {
            new (self) PyDims4{{Dims{4, {a, b, c, d}}}};
          },
          nb::arg("dim0"), nb::arg("dim1"), nb::arg("dim2"), nb::arg("dim3"));
}

nb::tuple order_of(const PyPermutation& self) {
  nb::list all;
  for (int32_t axis : self.permutation.order) all.append(axis);
  return nb::tuple(all);
}

void bind_permutation(nb::module_& m) {
  nb::class_<PyPermutation>(m, "Permutation", "The order of 8 axes, of which a tensor's rank says how many count.")
      .def(nb::init<>())
      .def("__init__", [](PyPermutation* self, Dims order) { new (self) PyPermutation{to_permutation(order)}; })
      .def("__len__", [](const PyPermutation&) { return Dims::MAX_DIMS; })
      .def("__getitem__", [](const PyPermutation& self,
                             int64_t index) { return self.permutation.order[place_of(index, Dims::MAX_DIMS)]; })
      .def("__setitem__", [](PyPermutation& self, int64_t index,
                             int32_t axis) { self.permutation.order[place_of(index, Dims::MAX_DIMS)] = axis; })
      .def("__iter__", [](const PyPermutation& self) { return nb::iter(order_of(self)); })
      .def(
          "__eq__",
          [](const PyPermutation& self, nb::handle other) {
            return PySequence_Check(other.ptr()) && order_of(self).equal(nb::tuple(nb::borrow(other)));
          },
          nb::arg("other").none())
      .def("__repr__", [](const PyPermutation& self) { return nb::str(nb::repr(order_of(self))); });
}

}  // namespace

Permutation to_permutation(const Dims& order) {
  Permutation made{};
  for (int32_t i = 0; i < order.nbDims; ++i) made.order[i] = static_cast<int32_t>(order.d[i]);
  return made;
}

nb::object from_permutation(const Permutation& permutation) { return nb::cast(PyPermutation{permutation}); }

PyObject* new_dims(const Dims& dims) noexcept {
  try {
    return nb::cast(PyDims{dims}).release().ptr();
  } catch (...) {
    return nullptr;
  }
}

void bind_dims(nb::module_& m) {
  bind_dims_class(m);
  bind_fixed_ranks(m);
  bind_permutation(m);
}

}  // namespace wootz_python
