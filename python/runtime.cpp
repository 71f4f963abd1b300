// The runtime, and what it says without an engine.
#include <nanobind/stl/optional.h>

#include <memory>

#include "device.h"
#include "wootz/extensions.h"

using namespace nvinfer1;

namespace wootz_python {
namespace {

// The text in what wootz_build_report_as() and its like return, which it frees.
nb::object report_text(void* memory) {
  const std::unique_ptr<IHostMemory> text(static_cast<IHostMemory*>(memory));
  if (text == nullptr) throw std::runtime_error("the report could not be made: see the log");
  return nb::str(static_cast<const char*>(text->data()), text->size() - 1);
}

void bind_reports(nb::module_& m) {
  m.def(
      "compare_reports",
      [](const char* a, const char* b, const char* format) {
        void* text = wootz_compare_reports(a, b, format);
        if (text == nullptr) throw nb::value_error("two reports in JSON and the format text or json are wanted");
        return report_text(text);
      },
      nb::arg("a"), nb::arg("b"), nb::arg("format") = "text",
      "Two reports (JSON) against each other, in the model's terms, as \"text\" or \"json\".");
}

void bind_versions(nb::module_& m) {
  m.def(
      "plan_header",
      [](const nb::bytes& plan) -> nb::object {
        const char* const text = wootz_plan_header(plan.c_str(), plan.size());
        if (text == nullptr) throw nb::value_error("these bytes are no plan's");
        return nb::module_::import_("json").attr("loads")(text);
      },
      nb::arg("plan"),
      "What the first 256 bytes of a plan of any version tell: its format, and of a version-compatible one the version "
      "of the library that wrote it and the bytes of the runtime in it.");
  m.def(
      "runtime_library",
      []() -> nb::object {
        const char* const path = wootz_runtime_library();
        return path == nullptr ? nb::object(nb::none()) : nb::object(nb::str(path));
      },
      "The path of the library without a compiler, which version-compatible plans carry; None where it is not there.");
}

void bind_thread_pool(nb::module_& m) {
  m.def(
      "set_thread_pool",
      [](int threads, int spin_us, const std::vector<int>& affinity) {
        if (wootz_set_thread_pool(threads, spin_us, affinity.data(), static_cast<int>(affinity.size())) != 0)
          throw std::runtime_error(
              "the thread pool could not be set: an inference is running, or a value is out of range");
      },
      nb::arg("threads") = 0, nb::arg("spin_us") = -1, nb::arg("affinity") = std::vector<int>{});
}

// A runtime's settings.
void bind_settings(nb::class_<IRuntime>& runtime) {
  runtime
      .def_prop_rw("max_threads", &IRuntime::getMaxThreads,
                   [](IRuntime& r, int32_t threads) {
                     if (!r.setMaxThreads(threads))
                       throw nb::value_error("max_threads: the number was refused: see the log");
                   })
      .def_prop_rw("DLA_core", &IRuntime::getDLACore, &IRuntime::setDLACore)
      .def_prop_ro("num_DLA_cores", &IRuntime::getNbDLACores)
      .def_prop_ro("logger", &IRuntime::getLogger, nb::rv_policy::reference_internal)
      .def_prop_rw("temporary_directory", &IRuntime::getTemporaryDirectory, &IRuntime::setTemporaryDirectory)
      .def_prop_rw("tempfile_control_flags", &IRuntime::getTempfileControlFlags, &IRuntime::setTempfileControlFlags)
      .def_prop_rw("engine_host_code_allowed", &IRuntime::getEngineHostCodeAllowed,
                   &IRuntime::setEngineHostCodeAllowed);
}

void make_runtime(Owned<IRuntime>* self, ILogger& logger, std::optional<int> device) {
  keep_logger(logger);
  std::unique_ptr<IRuntime> runtime(createInferRuntime(logger));
  if (runtime != nullptr && wootz_runtime_set_device(runtime.get(), device.value_or(-1)) != 0)
    throw nb::value_error("device: the number of a device, or None, is wanted");
  hold(self, runtime.release(), "runtime");
}

// By pieces, from a reader of the application's.
template <typename Reader>
ICudaEngine* deserialize_from(IRuntime& runtime, Reader& reader) {
  const nb::gil_scoped_release release;
  return runtime.deserializeCudaEngine(reader);
}

void bind_loading(nb::class_<IRuntime>& runtime) {
  runtime
#if NV_TENSORRT_MAJOR < 11
      .def("deserialize_cuda_engine", &deserialize_from<IStreamReader>, nb::arg("stream_reader"),
           nb::rv_policy::take_ownership, nb::keep_alive<0, 1>())
#endif
      .def("deserialize_cuda_engine", &deserialize_from<IStreamReaderV2>, nb::arg("stream_reader_v2"),
           nb::rv_policy::take_ownership, nb::keep_alive<0, 1>())
      .def(
          "deserialize_cuda_engine",
          [](IRuntime& r, nb::handle plan) -> ICudaEngine* {
            const Buffer bytes(plan);
            const nb::gil_scoped_release release;
            return r.deserializeCudaEngine(bytes.data(), bytes.size());
          },
          nb::arg("serialized_engine"), nb::rv_policy::take_ownership, nb::keep_alive<0, 1>())
      .def(
          "load_file",
          [](IRuntime& r, const char* path) {
            const nb::gil_scoped_release release;
            return static_cast<ICudaEngine*>(wootz_runtime_load_file(&r, path));
          },
          nb::arg("path"), nb::rv_policy::take_ownership, nb::keep_alive<0, 1>(),
          "An engine from a plan file, mapped rather than read; None (see the log) when it is refused.")
      .def("load_runtime", &IRuntime::loadRuntime, nb::arg("path"), nb::rv_policy::take_ownership,
           nb::keep_alive<0, 1>(), "A runtime of another library; None (see the log) when it is refused.")
      .def(
          "use_plans_runtime",
          [](IRuntime& r, bool on) {
            if (wootz_runtime_use_plans_runtime(&r, on ? 1 : 0) != 0) throw nb::value_error("not a runtime of Wootz");
          },
          nb::arg("on") = true, "Run plans by the runtime that they hold, even those of this version.");
}

void bind_runtime_class(nb::module_& m) {
  nb::class_<Owned<IRuntime>>(
      m, "Runtime",
      "Loads plans. Logs to `logger`, which it keeps alive. Its engines are on the device of that number; "
      "None: on the one that is current.")
      .def("__init__", &make_runtime, nb::arg("logger"), nb::arg("device").none() = nb::none(), nb::keep_alive<1, 2>());
  auto runtime = nb::borrow<nb::class_<IRuntime>>(m.attr("Runtime"));
  bind_loading(runtime);
  bind_settings(runtime);
}

}  // namespace

void bind_inspector(nb::module_& m) {
  nb::class_<IEngineInspector>(m, "EngineInspector")
      .def("get_layer_information", &IEngineInspector::getLayerInformation, nb::arg("layer_index"), nb::arg("format"))
      .def("get_engine_information", &IEngineInspector::getEngineInformation, nb::arg("format"))
      .def_prop_rw(
          "execution_context", &IEngineInspector::getExecutionContext,
          [](IEngineInspector& i, const IExecutionContext* c) {
            if (!i.setExecutionContext(c)) throw nb::value_error("execution_context: it is of another engine");
          },
          nb::rv_policy::reference, nb::for_setter(nb::arg("context").none()), nb::for_setter(nb::keep_alive<1, 2>()));
}

void bind_runtime(nb::module_& m) {
  bind_reports(m);
  bind_inspector(m);
  bind_engine(m);
  bind_runtime_class(m);
  bind_thread_pool(m);
  bind_versions(m);
}

}  // namespace wootz_python
