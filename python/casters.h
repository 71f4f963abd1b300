// What all binding files share: Dims, Weights and buffers as Python has them.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "NvInfer.h"
#include "bind.h"
#include "buffer.h"
#include "owned.h"

namespace nb = nanobind;

namespace wootz_python {

struct PyDims {
  nvinfer1::Dims64 dims{};
};

// A Python object of class Dims; null, with a Python error, on failure.
PyObject* new_dims(const nvinfer1::Dims64& dims) noexcept;

// A stream as Python's programs have it.
struct StreamHandle {
  cudaStream_t handle = nullptr;
};
// False: it is none.
bool stream_of(nb::handle source, StreamHandle* stream) noexcept;
}  // namespace wootz_python

NAMESPACE_BEGIN(NB_NAMESPACE)
NAMESPACE_BEGIN(detail)

// A number, a stream of torch (cuda_stream) or cupy (ptr), what follows the protocol
// __cuda_stream__, and what int() makes a number of.
template <>
struct type_caster<wootz_python::StreamHandle> {
  NB_TYPE_CASTER(wootz_python::StreamHandle, const_name("int"))
  bool from_python(handle source, uint8_t, cleanup_list*) noexcept { return wootz_python::stream_of(source, &value); }
  static handle from_cpp(wootz_python::StreamHandle stream, rv_policy, cleanup_list*) noexcept {
    return PyLong_FromVoidPtr(stream.handle);
  }
};

// Any sequence of at most 8 integers, or one integer, is taken for a Dims; an object of that class is given.
template <>
struct type_caster<nvinfer1::Dims64> {
  NB_TYPE_CASTER(nvinfer1::Dims64, const_name("Dims"))

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
    return wootz_python::new_dims(dims);
  }
};

NAMESPACE_END(detail)
NAMESPACE_END(NB_NAMESPACE)

namespace wootz_python {

// What a call returns is part of its object, which it keeps.
constexpr auto kInner = nb::rv_policy::reference_internal;

// The library logs to the last logger that a builder or runtime was made with, also when those are gone: it stays alive
// until there is another.
void keep_logger(nvinfer1::ILogger& logger);
// No object: there was none.
nb::object kept_logger();
// What loggers have heard of as errors in this thread is of earlier calls.
void clear_errors() noexcept;

// Python takes the memory over; null is None.
nb::object owned(nvinfer1::IHostMemory* memory);

nvinfer1::Permutation to_permutation(const nvinfer1::Dims& order);
nb::object from_permutation(const nvinfer1::Permutation& permutation);

using HostArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

// The elements of an array or of Weights, or no weights for None. They must outlive the network: callers keep the
// object (keep_array).
nvinfer1::Weights to_weights(nb::handle array);
// Ties the life of `array` to that of `owner` (a Python wrapper of a network).
void keep_array(nb::handle owner, nb::handle array);
// The network that a layer with weights is of, or else the layer.
nb::object network_of(nb::handle layer);
nvinfer1::DataType to_data_type(nb::dlpack::dtype dtype, const char* what);

}  // namespace wootz_python
