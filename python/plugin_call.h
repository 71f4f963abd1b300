// Calls from the library into plugins that are written in Python. What these raise is logged with its traceback, and
// the library is told that the call failed.
#pragma once

#include <string>
#include <utility>

#include "callbacks.h"

namespace wootz_python {

// A Python object that C++ keeps. It may be let go in any thread, also after the interpreter's end.
class Kept {
 public:
  explicit Kept(nb::object object) : object_(object.release()) {}
  ~Kept();
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  nb::handle get() const { return object_; }

 private:
  nb::handle object_;
};

// Logs an error to the logger that Python's last builder or runtime was made with.
void log_error(const std::string& message) noexcept;

// The name of an object's class.
std::string type_of(nb::handle object);

// The exception with the traceback of its own frames.
std::string text_of(nb::python_error& error) noexcept;

// False: it raised, and that is logged. `where` names the object's method.
template <class F>
bool attempt(nb::handle self, const char* where, F&& call) noexcept {
  if (!nb::is_alive()) return false;
  const nb::gil_scoped_acquire gil;
  std::string why;
  try {
    call();
    return true;
  } catch (nb::python_error& error) {
    why = text_of(error);
  } catch (const std::exception& error) {
    why = error.what();
  } catch (...) {
    why = "an unknown error";
  }
  try {
    log_error(type_of(self) + "." + where + " raised: " + why);
  } catch (...) {
    log_error("a plugin raised");
  }
  return false;
}

// A method's answer as a number for the library: None and True mean 0, a number itself.
int32_t code_of(nb::handle answer);

// What was answered, or TypeError with what is wanted.
template <class T>
T answered(nb::handle answer, const char* wanted) {
  try {
    return nb::cast<T>(answer);
  } catch (const nb::cast_error&) {
    throw nb::type_error(("it gave " + type_of(answer) + ", wanted is " + wanted).c_str());
  }
}

// The module in which the classes are that plugins derive from.
nb::handle plugin_classes();

// Strings that a plugin's attributes hold, for the library, which expects them to stay.
class TextOf {
 public:
  // Null: it is None, or raised.
  const char* read(nb::handle self, const char* attribute) noexcept;

 private:
  std::string text_;
};

// A number that a plugin's attribute holds; `otherwise`: it raised.
int64_t number_of(nb::handle self, const char* attribute, int64_t otherwise) noexcept;

}  // namespace wootz_python
