// The bytes of Python's objects.
#pragma once

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace wootz_python {

// The bytes of an object that has a buffer. Errors: it has none, or not a contiguous one.
class Buffer {
 public:
  explicit Buffer(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  ~Buffer() { PyBuffer_Release(&view_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  const void* data() const { return view_.buf; }
  size_t size() const { return static_cast<size_t>(view_.len); }

 private:
  Py_buffer view_{};
};

}  // namespace wootz_python
