// Loggers: the application's own, and the one that prints.
#include <cstdio>
#include <string>
#include <utility>

#include "callbacks.h"
#include "shared.h"

using namespace nvinfer1;

namespace wootz_python {
namespace {

// The errors that loggers heard of in this thread since they were last asked for: what an exception gives as its
// reason.
thread_local std::string errors;

void remember(ILogger::Severity severity, const char* message) {
  constexpr size_t kMost = 16 << 10;
  if (severity > ILogger::Severity::kERROR || errors.size() > kMost) return;
  errors += errors.empty() ? "" : "\n";
  errors += message;
}

// Null: it did not fit.
nb::object message_of(const char* message) {
  nb::gil_scoped_acquire gil;
  try {
    return text_of(message);
  } catch (nb::python_error&) {
    return nb::str("a message that cannot be shown");
  }
}

struct PyLogger : ILogger {
  NB_TRAMPOLINE(ILogger);
  void log(Severity severity, const char* message) noexcept override {
    remember(severity, message);
    if (!nb::is_alive()) return;
    nb::gil_scoped_acquire gil;
    tell(nb_trampoline, "log", severity, message_of(message));
  }
};

// Prints messages at least as severe as `least`, as TensorRT's own Logger does.
class StderrLogger : public ILogger {
 public:
  explicit StderrLogger(Severity least) : least(least) {}
  void log(Severity severity, const char* message) noexcept override {
    static const char* const kNames[] = {"F", "E", "W", "I", "V"};
    remember(severity, message);
    if (severity > least) return;
    std::fprintf(stderr, "[wootz] [%s] %s\n", kNames[static_cast<int>(severity)], message);
  }
  Severity least;
};

// A class of the application's may have a log() of its own.
struct PyStderrLogger final : StderrLogger {
  NB_TRAMPOLINE(StderrLogger);
  void log(Severity severity, const char* message) noexcept override {
    if (!nb::is_alive()) return StderrLogger::log(severity, message);
    nb::gil_scoped_acquire gil;
    const Answer answer = ask(
        nb_trampoline, "log", false, [](nb::handle) {}, severity, message_of(message));
    if (answer == Answer::kNoMethod) return StderrLogger::log(severity, message);
    remember(severity, message);
  }
};

Shared<nb::object>& kept() {
  static auto* const object =
      new Shared<nb::object>;  // never destroyed: the interpreter may be gone before static ones
  return *object;
}

}  // namespace

void keep_logger(ILogger& logger) {
  nb::object object = nb::find(logger);  // later the one before
  const std::lock_guard lock(kept().mutex);
  std::swap(kept().all, object);
}

nb::object kept_logger() {
  const std::lock_guard lock(kept().mutex);
  return kept().all;
}

void clear_errors() noexcept { errors.clear(); }

void bind_logger(nb::module_& m) {
  nb::class_<ILogger, PyLogger> base(m, "ILogger",
                                     "Hears what the library has to say: a class of the application's with log().");
  nb::enum_<ILogger::Severity>(base, "Severity", nb::is_arithmetic())
      .value("INTERNAL_ERROR", ILogger::Severity::kINTERNAL_ERROR)
      .value("ERROR", ILogger::Severity::kERROR)
      .value("WARNING", ILogger::Severity::kWARNING)
      .value("INFO", ILogger::Severity::kINFO)
      .value("VERBOSE", ILogger::Severity::kVERBOSE)
      .export_values();
  base.def(nb::init<>())
      .def(
          "log",
          [](nb::handle self, ILogger::Severity severity, const char* message) {
            if (nb::isinstance<StderrLogger>(self))
              return nb::cast<StderrLogger&>(self).StderrLogger::log(severity, message);
            not_there(self, "log(severity, msg)");
          },
          nb::arg("severity"), nb::arg("msg"));
  nb::class_<StderrLogger, ILogger, PyStderrLogger>(m, "Logger",
                                                    "Prints messages of at least `min_severity` to standard error.")
      .def(nb::init<ILogger::Severity>(), nb::arg("min_severity") = ILogger::Severity::kWARNING)
      .def(
          "log", [](StderrLogger& l, ILogger::Severity s, const char* message) { l.StderrLogger::log(s, message); },
          nb::arg("severity"), nb::arg("msg"))
      .def_rw("min_severity", &StderrLogger::least);
  m.def("_take_errors", [] {
    const std::string taken = std::exchange(errors, {});
    return text_of(taken.c_str());
  });
}

}  // namespace wootz_python
