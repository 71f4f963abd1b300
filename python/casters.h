// Conversions that all binding files share: Dims <-> tuples, Weights <- numpy arrays.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "NvInfer.h"

namespace nb = nanobind;

NAMESPACE_BEGIN(NB_NAMESPACE)
NAMESPACE_BEGIN(detail)

// Any sequence of at most 8 integers, or one integer, is a Dims; a Dims is a tuple. Shapes unknown in rank are None.
template <>
struct type_caster<nvinfer1::Dims64> {
  NB_TYPE_CASTER(nvinfer1::Dims64, const_name("tuple[int, ...]"))

  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    value = {};
    if (PyLong_Check(source.ptr())) {
      value.nbDims = 1;
      value.d[0] = PyLong_AsLongLong(source.ptr());
      return PyErr_Occurred() == nullptr || (PyErr_Clear(), false);
    }
    PyObject* sequence = PySequence_Fast(source.ptr(), "");
    if (sequence == nullptr) {
      PyErr_Clear();
      return false;
    }
    const Py_ssize_t count = PySequence_Size(sequence);
    bool ok = count <= nvinfer1::Dims64::MAX_DIMS;
    for (Py_ssize_t i = 0; ok && i < count; ++i) {
      PyObject* const item = PySequence_GetItem(sequence, i);
      value.d[i] = item == nullptr ? -1 : PyLong_AsLongLong(item);
      Py_XDECREF(item);
      if (PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        ok = false;
      }
    }
    value.nbDims = static_cast<int32_t>(count);
    Py_DECREF(sequence);
    return ok;
  }

  static handle from_cpp(const nvinfer1::Dims64& dims, rv_policy, cleanup_list*) noexcept {
    if (dims.nbDims < 0) return none().release();
    PyObject* tuple = PyTuple_New(dims.nbDims);
    for (int32_t i = 0; tuple != nullptr && i < dims.nbDims; ++i)
      PyTuple_SetItem(tuple, i, PyLong_FromLongLong(dims.d[i]));
    return tuple;
  }
};

NAMESPACE_END(detail)
NAMESPACE_END(NB_NAMESPACE)

namespace wootz_python {

// The library logs to the last logger that a builder or runtime was made with, also when those are gone: it stays alive
// until there is another.
void keep_logger(nvinfer1::ILogger& logger);
// Null: there was none.
nvinfer1::ILogger* kept_logger();

using HostArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

// The elements of an array, or no weights for None. The array must outlive the network: callers keep it (keep_array).
nvinfer1::Weights to_weights(nb::handle array);
// Ties the life of `array` to that of `owner` (a Python wrapper of a network).
void keep_array(nb::handle owner, nb::handle array);
nvinfer1::DataType to_data_type(nb::dlpack::dtype dtype, const char* what);

void bind_enums(nb::module_& m);
void bind_callbacks(nb::module_& m);    // before the classes that take them
void attach_callbacks(nb::module_& m);  // when these are there
void bind_network(nb::module_& m);
void bind_layers(nb::module_& m);
void bind_calibrators(nb::module_& m);
void bind_builder(nb::module_& m);
void bind_parser(nb::module_& m);
void bind_refitter(nb::module_& m);
void bind_device(nb::module_& m);
void bind_context(nb::module_& m);
void bind_runtime(nb::module_& m);
void bind_plugins(nb::module_& m);
void bind_tools(nb::module_& m);

}  // namespace wootz_python
