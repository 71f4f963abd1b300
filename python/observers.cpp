// What is told of a build and of an inference: progress monitor, profilers, debug listener, error recorder.
#include <cstdio>

#include "callbacks.h"

using namespace nvinfer1;

namespace wootz_python {
namespace {

// A method that raises stops the build, as False does.
struct PyProgressMonitor final : IProgressMonitor {
  NB_TRAMPOLINE(IProgressMonitor);
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }
  void phaseStart(const char* phase, const char* parent, int32_t steps) noexcept override {
    if (parent == nullptr) raised_ = false;
    if (!told("phase_start", phase, parent, steps)) raised_ = true;
  }
  bool stepComplete(const char* phase, int32_t step) noexcept override {
    bool go_on = false;
    ask(
        nb_trampoline, "step_complete", true, [&](nb::handle answer) { go_on = nb::cast<bool>(answer); }, phase, step);
    return go_on && !raised_;
  }
  void phaseFinish(const char* phase) noexcept override { tell(nb_trampoline, "phase_finish", phase); }

 private:
  bool told(const char* method, const char* phase, const char* parent, int32_t steps) noexcept {
    if (!nb::is_alive()) return false;
    nb::gil_scoped_acquire gil;
    try {
      return tell(nb_trampoline, method, phase, text_of(parent), steps);
    } catch (nb::python_error&) {
      return false;
    }
  }

  bool raised_ = false;
};

struct PyProfiler final : IProfiler {
  NB_TRAMPOLINE(IProfiler);
  void reportLayerTime(const char* layer, float ms) noexcept override {
    tell(nb_trampoline, "report_layer_time", layer, ms);
  }
};

// Prints each time, as TensorRT's own Profiler does.
class StdoutProfiler : public IProfiler {
 public:
  void reportLayerTime(const char* layer, float ms) noexcept override {
    std::printf("%s: %gms\n", layer, static_cast<double>(ms));
    std::fflush(stdout);  // in order with what Python prints
  }
};

struct PyStdoutProfiler final : StdoutProfiler {
  NB_TRAMPOLINE(StdoutProfiler);
  void reportLayerTime(const char* layer, float ms) noexcept override {
    const Answer answer = ask(
        nb_trampoline, "report_layer_time", false, [](nb::handle) {}, layer, ms);
    if (answer == Answer::kNoMethod) StdoutProfiler::reportLayerTime(layer, ms);
  }
};

// None goes on: TensorRT's signature has no answer.
struct PyDebugListener final : IDebugListener {
  NB_TRAMPOLINE(IDebugListener);
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }
  bool processDebugTensor(const void* address, TensorLocation location, DataType type, const Dims& shape,
                          const char* name, cudaStream_t stream) override {
    bool go_on = false;
    ask(
        nb_trampoline, "process_debug_tensor", true,
        [&](nb::handle answer) { go_on = answer.is_none() || nb::cast<bool>(answer); },
        reinterpret_cast<size_t>(address), location, type, shape, name, reinterpret_cast<size_t>(stream));
    return go_on;
  }
};

// References that the library counts are Python's: whatever reports to it keeps it.
struct PyErrorRecorder final : IErrorRecorder {
  NB_TRAMPOLINE(IErrorRecorder);
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }
  int32_t getNbErrors() const noexcept override { return answer_of<int32_t>("num_errors", 0); }
  ErrorCode getErrorCode(int32_t error) const noexcept override {
    return answer_of("get_error_code", ErrorCode::kUNSPECIFIED_ERROR, error);
  }
  ErrorDesc getErrorDesc(int32_t error) const noexcept override {
    description_ = answer_of<std::string>("get_error_desc", "", error);
    return description_.c_str();
  }
  bool hasOverflowed() const noexcept override { return answer_of("has_overflowed", false); }
  void clear() noexcept override { tell(nb_trampoline, "clear"); }
  bool reportError(ErrorCode code, ErrorDesc description) noexcept override {
    bool fatal = false;  // None: it is not
    if (!nb::is_alive()) return fatal;
    nb::gil_scoped_acquire gil;
    ask(
        nb_trampoline, "report_error", true,
        [&](nb::handle answer) { fatal = !answer.is_none() && nb::cast<bool>(answer); }, code, description);
    return fatal;
  }
  RefCount incRefCount() noexcept override { return counted(true); }
  RefCount decRefCount() noexcept override { return counted(false); }

 private:
  template <typename T, typename... Args>
  T answer_of(const char* method, T otherwise, const Args&... args) const noexcept {
    T value = std::move(otherwise);
    ask(
        nb_trampoline, method, true, [&](nb::handle answer) { value = nb::cast<T>(answer); }, args...);
    return value;
  }
  RefCount counted(bool more) noexcept {
    if (!nb::is_alive()) return 0;
    nb::gil_scoped_acquire gil;
    const RefCount count = more ? ++references_ : --references_;  // before the object may be gone
    more ? nb_trampoline.base().inc_ref() : nb_trampoline.base().dec_ref();
    return count;
  }

  mutable std::string description_;
  RefCount references_ = 0;
};

void bind_error_recorder(nb::module_& m) {
  nb::class_<IErrorRecorder, PyErrorRecorder>(m, "IErrorRecorder",
                                              "Collects errors: a class of the application's with these methods.")
      .def(nb::init<>())
      .def_prop_ro_static("MAX_DESC_LENGTH", [](nb::handle) { return size_t{IErrorRecorder::kMAX_DESC_LENGTH}; })
      .def("num_errors", [](nb::handle self) { not_there(self, "num_errors()"); })
      .def("get_error_code", [](nb::handle self, int32_t) { not_there(self, "get_error_code(index)"); })
      .def("get_error_desc", [](nb::handle self, int32_t) { not_there(self, "get_error_desc(index)"); })
      .def("has_overflowed", [](nb::handle self) { not_there(self, "has_overflowed()"); })
      .def("clear", [](nb::handle self) { not_there(self, "clear()"); })
      .def("report_error",
           [](nb::handle self, ErrorCode, const char*) { not_there(self, "report_error(code, description)"); });
}

// The property of a class that reports to a recorder, which the recorder's count keeps alive.
template <typename T>
void attach_recorder(nb::module_& m, const char* cls) {
  add_property(
      m, cls, "error_recorder",
      [](const T& object) {
        IErrorRecorder* const recorder = object.getErrorRecorder();
        return recorder == nullptr ? nb::none() : nb::cast(recorder, nb::rv_policy::reference);
      },
      [](T& object, IErrorRecorder* recorder) { object.setErrorRecorder(recorder); },
      "The IErrorRecorder that is told of errors, beside the logger; None: there is none.");
}

}  // namespace

void bind_observers(nb::module_& m) {
  nb::class_<IProgressMonitor, PyProgressMonitor>(
      m, "IProgressMonitor",
      "Told how far a build is, and can stop it: step_complete() answers False, or "
      "a method raises.")
      .def(nb::init<>())
      .def(
          "phase_start",
          [](nb::handle self, nb::handle, nb::handle, int32_t) {
            not_there(self, "phase_start(phase_name, parent_phase, num_steps)");
          },
          nb::arg("phase_name"), nb::arg("parent_phase").none(), nb::arg("num_steps"))
      .def(
          "step_complete",
          [](nb::handle self, nb::handle, int32_t) { not_there(self, "step_complete(phase_name, step)"); },
          nb::arg("phase_name"), nb::arg("step"))
      .def(
          "phase_finish", [](nb::handle self, nb::handle) { not_there(self, "phase_finish(phase_name)"); },
          nb::arg("phase_name"));
  nb::class_<IProfiler, PyProfiler>(m, "IProfiler", "Told the time of each layer after an inference.")
      .def(nb::init<>())
      .def(
          "report_layer_time",
          [](nb::handle self, nb::handle, float) { not_there(self, "report_layer_time(layer_name, ms)"); },
          nb::arg("layer_name"), nb::arg("ms"));
  nb::class_<StdoutProfiler, IProfiler, PyStdoutProfiler>(m, "Profiler", "Prints the time of each layer.")
      .def(nb::init<>())
      .def(
          "report_layer_time",
          [](StdoutProfiler& p, const char* layer, float ms) { p.StdoutProfiler::reportLayerTime(layer, ms); },
          nb::arg("layer_name"), nb::arg("ms"));
  nb::class_<IDebugListener, PyDebugListener>(m, "IDebugListener", "Handed the tensors that were marked for debugging.")
      .def(nb::init<>())
      .def(
          "process_debug_tensor",
          [](nb::handle self, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle) {
            not_there(self, "process_debug_tensor(addr, location, type, shape, name, stream)");
          },
          nb::arg("addr").none(), nb::arg("location"), nb::arg("type"), nb::arg("shape"), nb::arg("name"),
          nb::arg("stream"));
  bind_error_recorder(m);
}

void attach_observers(nb::module_& m) {
  attach_recorder<IBuilder>(m, "Builder");
  attach_recorder<INetworkDefinition>(m, "INetworkDefinition");
  attach_recorder<IRuntime>(m, "Runtime");
  attach_recorder<ICudaEngine>(m, "ICudaEngine");
  attach_recorder<IExecutionContext>(m, "IExecutionContext");
  attach_recorder<IRefitter>(m, "Refitter");
  attach_recorder<IEngineInspector>(m, "EngineInspector");
}

}  // namespace wootz_python
