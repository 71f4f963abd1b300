// Calls from the library into Python, and the classes that such callbacks have in common.
#include "callbacks.h"

#include <cstdio>
#include <cstring>

#include "kept.h"

using namespace nvinfer1;

namespace wootz_python {
namespace {

// "file.py, line 3": where an exception was raised; empty where nothing says it.
std::string place_of(const nb::python_error& error) {
  nb::object at = nb::borrow(error.traceback());
  if (!at.is_valid() || at.is_none()) return "";
  while (!at.attr("tb_next").is_none()) at = at.attr("tb_next");
  return nb::cast<std::string>(nb::str(at.attr("tb_frame").attr("f_code").attr("co_filename"))) + ", line " +
         std::to_string(nb::cast<int64_t>(at.attr("tb_lineno")));
}

std::string name_of(nb::handle self, const char* method) {
  return nb::cast<std::string>(self.type().attr("__name__")) + "." + method;
}

void log(ILogger::Severity severity, const std::string& text) {
  if (const nb::object logger = kept_logger(); logger.is_valid())
    nb::cast<ILogger*>(logger)->log(severity, text.c_str());
  else if (severity <= ILogger::Severity::kERROR)
    std::fprintf(stderr, "[wootz] %s\n", text.c_str());
}

void report(nb::handle self, const char* method, nb::python_error& error) {
  // What a logger raises cannot be logged.
  if (nb::isinstance<ILogger>(self)) return error.discard_as_unraisable(name_of(self, method).c_str());
  log(ILogger::Severity::kERROR, name_of(self, method) + " raised " + said_by(error));
}

void bind_versions_of_interfaces(nb::module_& m) {
  nb::class_<InterfaceInfo>(m, "InterfaceInfo", "Which interface an object implements, and in which version.")
      .def_prop_rw(
          "kind", [](const InterfaceInfo& i) { return i.kind; },
          [](InterfaceInfo& i, const char* kind) { i.kind = kind; }, nb::for_setter(nb::keep_alive<1, 2>()))
      .def_rw("major", &InterfaceInfo::major)
      .def_rw("minor", &InterfaceInfo::minor);
  nb::class_<IVersionedInterface>(m, "IVersionedInterface",
                                  "What interfaces that applications implement have in common.")
      .def_prop_ro("api_language", &IVersionedInterface::getAPILanguage)
      .def_prop_ro("interface_info", &IVersionedInterface::getInterfaceInfo);
}

}  // namespace

std::string said_by(nb::python_error& error) {
  std::string text = nb::cast<std::string>(error.type().attr("__name__"));
  try {
    const std::string why = nb::str(error.value()).c_str();
    if (!why.empty()) text += ": " + why;
  } catch (nb::python_error&) {
    text += ", which has no text";  // its __str__ raised
  }
  const std::string place = place_of(error);
  log(ILogger::Severity::kVERBOSE, error.what());
  return place.empty() ? text : text + " (" + place + ")";
}

void report_raised(nb::handle self, const char* method) noexcept {
  try {
    try {
      throw;
    } catch (nb::python_error& error) {
      // Ctrl-C in a callback is the program's to hear of, once the library has returned. Last, as the next code of
      // Python's gets it.
      const bool interrupted = error.matches(PyExc_KeyboardInterrupt);
      report(self, method, error);
      if (interrupted) PyErr_SetInterrupt();
    } catch (const std::exception& error) {
      log(ILogger::Severity::kERROR, name_of(self, method) + ": " + error.what());
    }
  } catch (...) {
    std::fprintf(stderr, "[wootz] %s raised an exception that cannot be shown\n", method);
  }
}

nb::object text_of(const char* text) {
  if (text == nullptr) return nb::none();
  nb::object made = nb::steal(PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(std::strlen(text)), "replace"));
  if (!made.is_valid()) throw nb::python_error();
  return made;
}

void* address_in(nb::handle answer) {
  if (answer.is_none()) return nullptr;
  if (PyCapsule_CheckExact(answer.ptr())) {
    void* const pointer = PyCapsule_GetPointer(answer.ptr(), PyCapsule_GetName(answer.ptr()));
    if (pointer == nullptr) throw nb::python_error();
    return pointer;
  }
  const nb::object number = nb::steal(PyNumber_Index(answer.ptr()));
  if (!number.is_valid()) throw nb::python_error();
  return reinterpret_cast<void*>(nb::cast<size_t>(number));
}

bool stream_of(nb::handle source, StreamHandle* stream) noexcept {
  if (source.is_none()) return false;
  try {
    nb::object number = nb::borrow(source);
    for (const char* const attribute : {"cuda_stream", "ptr"})
      if (!PyLong_Check(number.ptr()) && nb::hasattr(number, attribute)) number = number.attr(attribute);
    if (!PyLong_Check(number.ptr()) && nb::hasattr(number, "__cuda_stream__"))
      number = number.attr("__cuda_stream__")()[1];
    if (PyFloat_Check(number.ptr()) || PyUnicode_Check(number.ptr())) return false;
    if (!PyLong_Check(number.ptr())) number = nb::steal(PyNumber_Long(number.ptr()));
    size_t handle = 0;
    if (!number.is_valid() || !nb::try_cast(number, handle)) return PyErr_Clear(), false;
    stream->handle = reinterpret_cast<cudaStream_t>(handle);
    return true;
  } catch (nb::python_error&) {
    return false;
  }
}

void not_there(nb::handle self, const char* method) {
  const std::string text = name_of(self, method) + ": a class of the application's implements it";
  PyErr_SetString(PyExc_NotImplementedError, text.c_str());
  throw nb::python_error();
}

void keep_as(nb::handle owner, const char* name, nb::handle object) {
  Kept<nb::object>::keep(owner, name, nb::borrow(object));
}

nb::object kept_as(nb::handle owner, const char* name) {
  nb::object object = Kept<nb::object>::of(owner, name);
  return object.is_valid() ? object : nb::none();
}

void bind_callbacks(nb::module_& m) {
  bind_versions_of_interfaces(m);
  bind_logger(m);
  bind_observers(m);
  bind_allocators(m);
  bind_streams(m);
  bind_algorithms(m);
}

void attach_callbacks(nb::module_& m) {
  attach_observers(m);
  attach_allocators(m);
  attach_algorithms(m);
}

}  // namespace wootz_python
