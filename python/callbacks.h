// What the files of callbacks share: how the library calls methods of Python's objects, and what becomes of what they
// raise.
#pragma once

#include <nanobind/trampoline.h>

#include <string>
#include <utility>

#include "casters.h"

namespace wootz_python {

// What a callback raised, in the catch block of it and with Python's lock: an error in the log that names class,
// method, exception and line, and the whole traceback as a verbose message. It goes no further.
void report_raised(nb::handle self, const char* method) noexcept;
// What an exception says in one line: its type, its text, and where it was raised. The whole traceback goes to the log
// as a verbose message.
std::string said_by(nb::python_error& error);

enum class Answer { kGiven, kNoMethod, kRaised };

// Calls a method that the application's class may or must (`needed`) have, from any thread, and hands its answer to
// `take`, whose exceptions (of casts, say) count as the method's.
template <typename Take, typename... Args>
Answer ask(const nb::detail::trampoline& object, const char* method, bool needed, Take&& take,
           const Args&... args) noexcept {
  if (!nb::is_alive()) return Answer::kRaised;  // the interpreter has ended: there is no object to ask
  nb::gil_scoped_acquire gil;
  try {
    if (!needed && !nb::hasattr(object.base(), method)) return Answer::kNoMethod;
    nb::detail::ticket t(object, method, nb::detail::str_hash(method), needed);
    if (!t.key.is_valid()) return Answer::kNoMethod;
    const nb::object answer = object.base().attr(t.key)(args...);
    take(nb::handle(answer));
    return Answer::kGiven;
  } catch (...) {
    report_raised(object.base(), method);
    return Answer::kRaised;
  }
}

// The same for a method without an answer. False: it raised.
template <typename... Args>
bool tell(const nb::detail::trampoline& object, const char* method, const Args&... args) noexcept {
  return ask(
             object, method, true, [](nb::handle) {}, args...) == Answer::kGiven;
}

// What the library says may quote what is no text.
nb::object text_of(const char* text);
inline nb::object number_of(const void* address) { return nb::int_(reinterpret_cast<size_t>(address)); }
// What a callback answered as an address: a number, or None for null.
void* address_in(nb::handle answer);

// A base class has the methods that a class of the application's defines; by themselves they raise.
[[noreturn]] void not_there(nb::handle self, const char* method);

// A property of a class that another file binds.
template <typename Get, typename Set>
void add_property(nb::handle module, const char* cls, const char* name, Get&& get, Set&& set, const char* doc) {
  const nb::object made = nb::borrow(reinterpret_cast<PyObject*>(&PyProperty_Type))(
      nb::cpp_function(std::forward<Get>(get), nb::arg("self")),
      nb::cpp_function(std::forward<Set>(set), nb::arg("self"), nb::arg("value").none()), nb::none(), doc);
  nb::setattr(module.attr(cls), name, made);
}

// An object that `owner` keeps under a name until another one, or None, comes there.
void keep_as(nb::handle owner, const char* name, nb::handle object);
// None: there is none.
nb::object kept_as(nb::handle owner, const char* name);

void bind_logger(nb::module_& m);
void bind_observers(nb::module_& m);
void bind_allocators(nb::module_& m);
void bind_streams(nb::module_& m);
void bind_algorithms(nb::module_& m);
// The properties of other classes that take them.
void attach_observers(nb::module_& m);
void attach_allocators(nb::module_& m);
void attach_algorithms(nb::module_& m);

}  // namespace wootz_python
