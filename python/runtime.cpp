// Runtime, engine, inspector.
#include <memory>

#include "device.h"
#include "wootz/extensions.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

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

void bind_inspector(nb::module_& m) {
  nb::class_<IEngineInspector>(m, "EngineInspector")
      .def("get_layer_information", &IEngineInspector::getLayerInformation, nb::arg("layer_index"), nb::arg("format"))
      .def("get_engine_information", &IEngineInspector::getEngineInformation, nb::arg("format"))
      .def_prop_rw(
          "execution_context", &IEngineInspector::getExecutionContext,
          [](IEngineInspector& i, const IExecutionContext* c) { i.setExecutionContext(c); }, nb::rv_policy::reference);
}

using Engine = nb::class_<ICudaEngine>;

// Inputs and outputs.
void bind_engine_tensors(Engine& engine) {
  engine.def_prop_ro("num_io_tensors", &ICudaEngine::getNbIOTensors)
      .def("get_tensor_name", &ICudaEngine::getIOTensorName, nb::arg("index"))
      .def("get_tensor_mode", &ICudaEngine::getTensorIOMode, nb::arg("name"))
      .def("get_tensor_shape", &ICudaEngine::getTensorShape, nb::arg("name"))
      .def("_get_tensor_dtype_number",
           [](const ICudaEngine& e, const char* n) { return static_cast<int>(e.getTensorDataType(n)); })
      .def("get_tensor_dtype", &ICudaEngine::getTensorDataType, nb::arg("name"))
      .def("get_tensor_location", &ICudaEngine::getTensorLocation, nb::arg("name"))
      .def(
          "get_tensor_format", [](const ICudaEngine& e, const char* n) { return e.getTensorFormat(n); },
          nb::arg("name"))
      .def(
          "get_tensor_format_desc", [](const ICudaEngine& e, const char* n) { return e.getTensorFormatDesc(n); },
          nb::arg("name"))
      .def(
          "get_tensor_vectorized_dim", [](const ICudaEngine& e, const char* n) { return e.getTensorVectorizedDim(n); },
          nb::arg("name"))
      .def(
          "get_tensor_components_per_element",
          [](const ICudaEngine& e, const char* n) { return e.getTensorComponentsPerElement(n); }, nb::arg("name"))
      .def(
          "get_tensor_bytes_per_component",
          [](const ICudaEngine& e, const char* n) { return e.getTensorBytesPerComponent(n); }, nb::arg("name"))
      .def("is_shape_inference_io", &ICudaEngine::isShapeInferenceIO, nb::arg("name"))
      .def(
          "get_tensor_profile_shape",
          [](const ICudaEngine& e, const char* n, int32_t p) {
            return nb::make_tuple(e.getProfileShape(n, p, OptProfileSelector::kMIN),
                                  e.getProfileShape(n, p, OptProfileSelector::kOPT),
                                  e.getProfileShape(n, p, OptProfileSelector::kMAX));
          },
          nb::arg("name"), nb::arg("profile_index"))
      .def("is_debug_tensor", &ICudaEngine::isDebugTensor, nb::arg("name"))
      .def("__iter__", [](const ICudaEngine& e) {
        nb::list names;
        for (int32_t i = 0; i < e.getNbIOTensors(); ++i) names.append(e.getIOTensorName(i));
        return nb::iter(names);
      });
}

// The device's memory and streams.
void bind_engine_device(Engine& engine) {
  engine
      .def_prop_ro(
          "on_device", [](ICudaEngine& e) { return wootz_engine_on_device(&e) != 0; },
          "Whether addresses that contexts take are of a device's memory (DeviceMemory) and not the host's.")
      .def_prop_ro(
          "device", [](ICudaEngine& e) { return wootz_engine_device(&e); },
          "Number of the device that it is on, among those of its backend.")
      .def(
          "synchronize",
          [](ICudaEngine& e, size_t stream) {
            int failed = 0;
            {
              const nb::gil_scoped_release release;
              failed = wootz_device_wait(&e, reinterpret_cast<void*>(stream));
            }
            if (failed != 0) throw std::runtime_error("work on the device failed: see the log");
          },
          nb::arg("stream_handle") = 0, "Waits for the work on a stream of the engine's device.")
      .def(
          "set_thread_pool",
          [](ICudaEngine& e, int threads, int spin_us, const std::vector<int>& affinity) {
            const auto count = static_cast<int>(affinity.size());
            if (wootz_engine_set_thread_pool(&e, threads, spin_us, affinity.data(), count) != 0)
              throw std::runtime_error("the thread pool could not be set: see the log");
          },
          nb::arg("threads") = 0, nb::arg("spin_us") = -1, nb::arg("affinity") = std::vector<int>{},
          "As wootz.set_thread_pool, of the library that runs this engine: another one's has a pool of its own.")
      .def("_read",
           [](ICudaEngine& e, nb::handle to, size_t address) {
             Py_buffer view;
             if (PyObject_GetBuffer(to.ptr(), &view, PyBUF_WRITABLE) != 0) throw nb::python_error();
             const std::unique_ptr<Py_buffer, decltype(&PyBuffer_Release)> owner(&view, PyBuffer_Release);
             if (wootz_device_copy(&e, view.buf, reinterpret_cast<void*>(address), static_cast<size_t>(view.len)) != 0)
               throw std::runtime_error("the copy from the device failed: see the log");
           })
      .def_prop_ro("device_memory_size_v2", &ICudaEngine::getDeviceMemorySizeV2)
      .def("get_device_memory_size_for_profile_v2", &ICudaEngine::getDeviceMemorySizeForProfileV2);
}

nb::object as_plan(IHostMemory* plan) {
  return plan == nullptr ? nb::object(nb::none()) : nb::cast(plan, nb::rv_policy::take_ownership);
}

void bind_serialization(nb::module_& m, Engine& engine) {
  nb::class_<ISerializationConfig>(m, "ISerializationConfig")
      .def_prop_rw("flags", &ISerializationConfig::getFlags,
                   [](ISerializationConfig& c, SerializationFlags flags) {
                     if (!c.setFlags(flags)) throw nb::value_error("unknown serialization flags");
                   })
      .def("set_flag", &ISerializationConfig::setFlag, nb::arg("flag"))
      .def("clear_flag", &ISerializationConfig::clearFlag, nb::arg("flag"))
      .def("get_flag", &ISerializationConfig::getFlag, nb::arg("flag"));
  engine.def("serialize", [](const ICudaEngine& e) { return as_plan(e.serialize()); })
      .def("create_serialization_config", &ICudaEngine::createSerializationConfig, nb::rv_policy::take_ownership)
      .def(
          "serialize_with_config",
          [](const ICudaEngine& e, ISerializationConfig& config) { return as_plan(e.serializeWithConfig(config)); },
          nb::arg("config"));
}

void bind_weight_streaming(Engine& engine) {
  const auto set = [](ICudaEngine& e, int64_t bytes, bool (ICudaEngine::*call)(int64_t) noexcept) {
    if (!(e.*call)(bytes)) throw nb::value_error("the weight streaming budget was refused: see the log");
  };
  engine.def_prop_ro("streamable_weights_size", &ICudaEngine::getStreamableWeightsSize)
      .def_prop_rw("weight_streaming_budget_v2", &ICudaEngine::getWeightStreamingBudgetV2,
                   [set](ICudaEngine& e, int64_t bytes) { set(e, bytes, &ICudaEngine::setWeightStreamingBudgetV2); })
#if NV_TENSORRT_MAJOR < 11
      .def_prop_rw("weight_streaming_budget", &ICudaEngine::getWeightStreamingBudget,
                   [set](ICudaEngine& e, int64_t bytes) { set(e, bytes, &ICudaEngine::setWeightStreamingBudget); })
      .def_prop_ro("minimum_weight_streaming_budget", &ICudaEngine::getMinimumWeightStreamingBudget)
#endif
      .def_prop_ro("weight_streaming_scratch_memory_size", &ICudaEngine::getWeightStreamingScratchMemorySize)
      .def("get_weight_streaming_automatic_budget", &ICudaEngine::getWeightStreamingAutomaticBudget);
}

void bind_engine(nb::module_& m) {
  Engine engine(m, "ICudaEngine");
  bind_engine_tensors(engine);
  bind_engine_device(engine);
  engine.def_prop_ro("num_optimization_profiles", &ICudaEngine::getNbOptimizationProfiles)
      .def_prop_ro("num_layers", &ICudaEngine::getNbLayers)
      .def_prop_ro("num_aux_streams", &ICudaEngine::getNbAuxStreams)
      .def_prop_ro("name", &ICudaEngine::getName)
      .def_prop_ro("refittable", &ICudaEngine::isRefittable)
      .def(
          "create_execution_context",
          [](ICudaEngine& e) {
            const nb::gil_scoped_release release;  // plugins of other threads may be waiting for it
            return e.createExecutionContext(ExecutionContextAllocationStrategy::kSTATIC);
          },
          nb::rv_policy::take_ownership, nb::keep_alive<0, 1>())
      .def("create_engine_inspector", &ICudaEngine::createEngineInspector, nb::rv_policy::take_ownership,
           nb::keep_alive<0, 1>())
      .def(
          "report", [](ICudaEngine& e, const char* format) { return report_text(wootz_engine_report(&e, format)); },
          nb::arg("format") = "text", "What the plan holds, as \"text\", \"json\", \"html\", \"svg\" or \"values\".")
      .def("get_engine_stat", &ICudaEngine::getEngineStat, nb::arg("stat") = EngineStat::kTOTAL_WEIGHTS_SIZE);
  bind_serialization(m, engine);
  bind_weight_streaming(engine);
}

// By pieces, from a reader of the application's.
template <typename Reader>
ICudaEngine* deserialize_from(IRuntime& runtime, Reader& reader) {
  const nb::gil_scoped_release release;
  return runtime.deserializeCudaEngine(reader);
}

void bind_runtime_class(nb::module_& m) {
  nb::class_<IRuntime>(m, "Runtime")
      .def_static(
          "_create",
          [](ILogger& logger, int device) -> IRuntime* {
            keep_logger(logger);
            std::unique_ptr<IRuntime> runtime(createInferRuntime(logger));
            if (runtime == nullptr) throw nb::type_error("the runtime could not be created: see the log");
            if (wootz_runtime_set_device(runtime.get(), device) != 0)
              throw nb::value_error("device: the number of a device, or None, is wanted");
            return runtime.release();
          },
          nb::arg("logger"), nb::arg("device") = -1, nb::rv_policy::take_ownership, nb::keep_alive<0, 1>())
#if NV_TENSORRT_MAJOR < 11
      .def("deserialize_cuda_engine", &deserialize_from<IStreamReader>, nb::arg("stream_reader"),
           nb::rv_policy::take_ownership, nb::keep_alive<0, 1>())
#endif
      .def("deserialize_cuda_engine", &deserialize_from<IStreamReaderV2>, nb::arg("stream_reader_v2"),
           nb::rv_policy::take_ownership, nb::keep_alive<0, 1>())
      .def(
          "deserialize_cuda_engine",
          [](IRuntime& r, nb::handle plan) -> ICudaEngine* {
            Py_buffer view;
            if (PyObject_GetBuffer(plan.ptr(), &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
            ICudaEngine* engine = nullptr;
            {
              nb::gil_scoped_release release;
              engine = r.deserializeCudaEngine(view.buf, static_cast<size_t>(view.len));
            }
            PyBuffer_Release(&view);
            return engine;
          },
          nb::arg("serialized_engine"), nb::rv_policy::take_ownership, nb::keep_alive<0, 1>())
      .def(
          "load_file",
          [](IRuntime& r, const char* path) {
            nb::gil_scoped_release release;
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
          nb::arg("on") = true, "Run plans by the runtime that they hold, even those of this version.")
      .def_prop_rw("max_threads", &IRuntime::getMaxThreads, &IRuntime::setMaxThreads)
      .def_prop_rw("temporary_directory", &IRuntime::getTemporaryDirectory, &IRuntime::setTemporaryDirectory)
      .def_prop_rw("tempfile_control_flags", &IRuntime::getTempfileControlFlags, &IRuntime::setTempfileControlFlags)
      .def_prop_rw("engine_host_code_allowed", &IRuntime::getEngineHostCodeAllowed,
                   &IRuntime::setEngineHostCodeAllowed);
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

}  // namespace

void bind_runtime(nb::module_& m) {
  bind_reports(m);
  bind_inspector(m);
  bind_engine(m);
  bind_runtime_class(m);
  bind_thread_pool(m);
  bind_versions(m);
}

}  // namespace wootz_python
