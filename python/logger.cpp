// Logger, progress monitor, profiler, output allocator, debug listener: what Python code may implement.
#include <nanobind/trampoline.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "casters.h"

using namespace nvinfer1;

namespace wootz_python {
namespace {

// Errors raised by a callback are shown, and must not travel through the library.
template <typename F>
void guarded(F&& call) noexcept {
  nb::gil_scoped_acquire gil;
  try {
    call();
  } catch (nb::python_error& error) {
    error.discard_as_unraisable("wootz callback");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "wootz callback: %s\n", error.what());
  }
}

// The errors that loggers heard of in this thread since they were last asked for: what an exception gives as its
// reason.
thread_local std::string errors;

void remember(ILogger::Severity severity, const char* message) {
  constexpr size_t kMost = 16 << 10;
  if (severity > ILogger::Severity::kERROR || errors.size() > kMost) return;
  errors += errors.empty() ? "" : "\n";
  errors += message;
}

struct PyLogger : ILogger {
  NB_TRAMPOLINE(ILogger);
  void log(Severity severity, const char* message) noexcept override {
    guarded([&] {
      remember(severity, message);
      constexpr uint64_t kHash = nb::detail::str_hash("log");
      nb::detail::ticket nb_ticket(nb_trampoline, "log", kHash, true);
      // It may quote what is no text.
      const nb::object text =
          nb::steal(PyUnicode_DecodeUTF8(message, static_cast<Py_ssize_t>(std::strlen(message)), "replace"));
      nb_trampoline.base().attr(nb_ticket.key)(severity, text);
    });
  }
};

// Prints messages at least as severe as `least`, as TensorRT's own Logger does.
class StderrLogger final : public ILogger {
 public:
  explicit StderrLogger(Severity least) : least(least) {}
  void log(Severity severity, const char* message) noexcept override {
    static const char* const kNames[] = {"F", "E", "W", "I", "V"};
    guarded([&] { remember(severity, message); });
    if (severity > least) return;
    std::fprintf(stderr, "[wootz] [%s] %s\n", kNames[static_cast<int>(severity)], message);
  }
  Severity least;
};

struct PyProgressMonitor : IProgressMonitor {
  NB_TRAMPOLINE(IProgressMonitor);
  void phaseStart(const char* phase, const char* parent, int32_t steps) noexcept override {
    guarded([&] {
      constexpr uint64_t kHash = nb::detail::str_hash("phase_start");
      nb::detail::ticket t(nb_trampoline, "phase_start", kHash, true);
      nb_trampoline.base().attr(t.key)(phase, parent == nullptr ? nb::object(nb::none()) : nb::object(nb::str(parent)),
                                       steps);
    });
  }
  bool stepComplete(const char* phase, int32_t step) noexcept override {
    bool go_on = true;
    guarded([&] {
      constexpr uint64_t kHash = nb::detail::str_hash("step_complete");
      nb::detail::ticket t(nb_trampoline, "step_complete", kHash, true);
      go_on = nb::cast<bool>(nb_trampoline.base().attr(t.key)(phase, step));
    });
    return go_on;
  }
  void phaseFinish(const char* phase) noexcept override {
    guarded([&] {
      constexpr uint64_t kHash = nb::detail::str_hash("phase_finish");
      nb::detail::ticket t(nb_trampoline, "phase_finish", kHash, true);
      nb_trampoline.base().attr(t.key)(phase);
    });
  }
};

struct PyProfiler : IProfiler {
  NB_TRAMPOLINE(IProfiler);
  void reportLayerTime(const char* layer, float ms) noexcept override {
    guarded([&] {
      constexpr uint64_t kHash = nb::detail::str_hash("report_layer_time");
      nb::detail::ticket t(nb_trampoline, "report_layer_time", kHash, true);
      nb_trampoline.base().attr(t.key)(layer, ms);
    });
  }
};

nb::object number_of(const void* address) { return nb::int_(reinterpret_cast<size_t>(address)); }

// What a callback answered as an address: a number, or None.
void* address_in(nb::handle answer) {
  return answer.is_none() ? nullptr : reinterpret_cast<void*>(nb::cast<size_t>(answer));
}

struct PyOutputAllocator : IOutputAllocator {
  NB_TRAMPOLINE(IOutputAllocator);
  void* reallocateOutputAsync(const char* name, void* memory, uint64_t size, uint64_t alignment,
                              cudaStream_t stream) override {
    void* answer = nullptr;
    bool answered = false;
    guarded([&] {
      constexpr uint64_t kHash = nb::detail::str_hash("reallocate_output_async");
      nb::detail::ticket t(nb_trampoline, "reallocate_output_async", kHash, false);
      if (!t.key.is_valid()) return;
      answered = true;
      answer =
          address_in(nb_trampoline.base().attr(t.key)(name, number_of(memory), size, alignment, number_of(stream)));
    });
    return answered ? answer : reallocateOutput(name, memory, size, alignment);
  }
  void* reallocateOutput(const char* name, void* memory, uint64_t size, uint64_t alignment) noexcept override {
    void* answer = nullptr;
    guarded([&] {
      constexpr uint64_t kHash = nb::detail::str_hash("reallocate_output");
      nb::detail::ticket t(nb_trampoline, "reallocate_output", kHash, true);
      answer = address_in(nb_trampoline.base().attr(t.key)(name, number_of(memory), size, alignment));
    });
    return answer;
  }
  void notifyShape(const char* name, const Dims& dims) noexcept override {
    guarded([&] {
      constexpr uint64_t kHash = nb::detail::str_hash("notify_shape");
      nb::detail::ticket t(nb_trampoline, "notify_shape", kHash, true);
      nb_trampoline.base().attr(t.key)(name, dims);
    });
  }
};

struct PyDebugListener : IDebugListener {
  NB_TRAMPOLINE(IDebugListener);
  bool processDebugTensor(const void* address, TensorLocation location, DataType type, const Dims& shape,
                          const char* name, cudaStream_t stream) override {
    bool go_on = false;
    guarded([&] {
      constexpr uint64_t kHash = nb::detail::str_hash("process_debug_tensor");
      nb::detail::ticket t(nb_trampoline, "process_debug_tensor", kHash, true);
      go_on = nb::cast<bool>(
          nb_trampoline.base().attr(t.key)(number_of(address), location, type, shape, name, number_of(stream)));
    });
    return go_on;
  }
};

}  // namespace

// Never destroyed: the interpreter may be gone before static objects are.
nb::object& kept() {
  static auto* const object = new nb::object;
  return *object;
}

void keep_logger(ILogger& logger) { kept() = nb::find(logger); }

ILogger* kept_logger() { return kept().is_valid() ? nb::cast<ILogger*>(kept()) : nullptr; }

void bind_logger(nb::module_& m) {
  nb::class_<ILogger, PyLogger> base(m, "ILogger");
  nb::enum_<ILogger::Severity>(base, "Severity", nb::is_arithmetic())
      .value("INTERNAL_ERROR", ILogger::Severity::kINTERNAL_ERROR)
      .value("ERROR", ILogger::Severity::kERROR)
      .value("WARNING", ILogger::Severity::kWARNING)
      .value("INFO", ILogger::Severity::kINFO)
      .value("VERBOSE", ILogger::Severity::kVERBOSE)
      .export_values();
  base.def(nb::init<>()).def("log", &ILogger::log, nb::arg("severity"), nb::arg("msg"));
  nb::class_<StderrLogger, ILogger>(m, "Logger")
      .def(nb::init<ILogger::Severity>(), nb::arg("min_severity") = ILogger::Severity::kWARNING)
      .def_rw("min_severity", &StderrLogger::least);
  // It may quote what is no text.
  m.def("_take_errors", [] {
    const std::string taken = std::exchange(errors, {});
    return nb::steal(PyUnicode_DecodeUTF8(taken.data(), static_cast<Py_ssize_t>(taken.size()), "replace"));
  });
  nb::class_<IProgressMonitor, PyProgressMonitor>(m, "IProgressMonitor")
      .def(nb::init<>())
      .def("phase_start", &IProgressMonitor::phaseStart)
      .def("step_complete", &IProgressMonitor::stepComplete)
      .def("phase_finish", &IProgressMonitor::phaseFinish);
  nb::class_<IProfiler, PyProfiler>(m, "IProfiler")
      .def(nb::init<>())
      .def("report_layer_time", &IProfiler::reportLayerTime);
  nb::class_<IOutputAllocator, PyOutputAllocator>(m, "IOutputAllocator").def(nb::init<>());
  nb::class_<IDebugListener, PyDebugListener>(m, "IDebugListener").def(nb::init<>());
}

}  // namespace wootz_python
