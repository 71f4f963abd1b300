// Runtime, engine, execution context, inspector.
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

}  // namespace

void bind_runtime(nb::module_& m) {
  m.def(
      "compare_reports",
      [](const char* a, const char* b, const char* format) {
        void* text = wootz_compare_reports(a, b, format);
        if (text == nullptr) throw nb::value_error("two reports in JSON and the format text or json are wanted");
        return report_text(text);
      },
      nb::arg("a"), nb::arg("b"), nb::arg("format") = "text",
      "Two reports (JSON) against each other, in the model's terms, as \"text\" or \"json\".");

  nb::class_<IEngineInspector>(m, "EngineInspector")
      .def("get_layer_information", &IEngineInspector::getLayerInformation, nb::arg("layer_index"), nb::arg("format"))
      .def("get_engine_information", &IEngineInspector::getEngineInformation, nb::arg("format"))
      .def_prop_rw(
          "execution_context", &IEngineInspector::getExecutionContext,
          [](IEngineInspector& i, const IExecutionContext* c) { i.setExecutionContext(c); }, nb::rv_policy::reference);

  nb::class_<IExecutionContext>(m, "IExecutionContext", nb::dynamic_attr())
      .def("set_input_shape", &IExecutionContext::setInputShape, nb::arg("name"), nb::arg("shape"))
      .def("get_tensor_shape", &IExecutionContext::getTensorShape, nb::arg("name"))
      .def("get_tensor_strides", &IExecutionContext::getTensorStrides, nb::arg("name"))
      .def(
          "set_tensor_address", &set_address, nb::arg("name"), nb::arg("memory").none(),
          "The address as a number, of memory that the caller keeps alive; or a DeviceMemory, which the context keeps.")
      .def(
          "get_tensor_address",
          [](const IExecutionContext& c, const char* name) {
            return reinterpret_cast<size_t>(c.getTensorAddress(name));
          },
          nb::arg("name"))
      .def(
          "set_output_allocator",
          [](nb::handle c, const char* name, nb::handle allocator) {
            auto* const set = allocator.is_none() ? nullptr : nb::cast<IOutputAllocator*>(allocator);
            if (!nb::cast<IExecutionContext&>(c).setOutputAllocator(name, set)) return false;
            keep_for(c, "allocator of " + std::string(name), allocator);
            return true;
          },
          nb::arg("name"), nb::arg("output_allocator").none())
      .def("get_output_allocator", &IExecutionContext::getOutputAllocator, nb::arg("name"), nb::rv_policy::reference)
      .def(
          "set_debug_listener",
          [](nb::handle c, nb::handle listener) {
            auto* const set = listener.is_none() ? nullptr : nb::cast<IDebugListener*>(listener);
            if (!nb::cast<IExecutionContext&>(c).setDebugListener(set)) return false;
            keep_for(c, "debug listener", listener);
            return true;
          },
          nb::arg("listener").none())
      .def("get_debug_listener", &IExecutionContext::getDebugListener, nb::rv_policy::reference)
      .def("set_tensor_debug_state", &IExecutionContext::setTensorDebugState, nb::arg("name"), nb::arg("flag"))
      .def("get_debug_state", &IExecutionContext::getDebugState, nb::arg("name"))
      .def("set_all_tensors_debug_state", &IExecutionContext::setAllTensorsDebugState, nb::arg("flag"))
      .def_prop_rw("unfused_tensors_debug_state", &IExecutionContext::getUnfusedTensorsDebugState,
                   [](IExecutionContext& c, bool flag) {
                     if (!c.setUnfusedTensorsDebugState(flag))
                       throw nb::value_error("the network was built without mark_unfused_tensors_as_debug_tensors");
                   })
      .def(
          "tap",
          [](IExecutionContext& c, const char* name, bool on) { return wootz_context_tap(&c, name, on ? 1 : 0) == 0; },
          nb::arg("name"), nb::arg("on") = true,
          "Hands a value of the model to the debug listener in each inference; False (see the log) when no step writes "
          "it.")
      .def("get_max_output_size", &IExecutionContext::getMaxOutputSize, nb::arg("name"))
      .def("infer_shapes",
           [](IExecutionContext& c) {
             std::vector<const char*> names(static_cast<size_t>(c.getEngine().getNbIOTensors()));
             const int32_t count = c.inferShapes(static_cast<int32_t>(names.size()), names.data());
             std::vector<std::string> missing;
             if (count < 0) throw std::runtime_error("the shapes could not be inferred: see the log");
             for (int32_t i = 0; i < count && i < static_cast<int32_t>(names.size()); ++i)
               missing.emplace_back(names[static_cast<size_t>(i)]);
             return missing;
           })
      .def_prop_ro("all_input_dimensions_specified", &IExecutionContext::allInputDimensionsSpecified)
      .def(
          "execute_async_v3",
          [](nb::handle context, size_t stream) {
            check_addresses(context);
            auto& c = nb::cast<IExecutionContext&>(context);
            nb::gil_scoped_release release;
            return c.enqueueV3(reinterpret_cast<cudaStream_t>(stream));
          },
          nb::arg("stream_handle"))
      .def(
          "set_aux_streams",
          [](IExecutionContext& c, const std::vector<size_t>& streams) {
            std::vector<cudaStream_t> list;
            for (size_t s : streams) list.push_back(reinterpret_cast<cudaStream_t>(s));
            c.setAuxStreams(list.empty() ? nullptr : list.data(), static_cast<int32_t>(list.size()));
          },
          nb::arg("aux_streams"))
      .def(
          "execute_v2",
          [](nb::handle context, const std::vector<nb::object>& bindings) {
            auto& c = nb::cast<IExecutionContext&>(context);
            const ICudaEngine& engine = c.getEngine();
            if (bindings.size() != static_cast<size_t>(engine.getNbIOTensors()))
              throw nb::value_error(("the engine has " + std::to_string(engine.getNbIOTensors()) +
                                     " inputs and outputs, " + std::to_string(bindings.size()) + " addresses given")
                                        .c_str());
            std::vector<void*> addresses;
            for (size_t b = 0; b < bindings.size(); ++b) {
              const char* const name = engine.getIOTensorName(static_cast<int32_t>(b));
              if (!set_address(context, name, bindings[b])) return false;
              addresses.push_back(const_cast<void*>(c.getTensorAddress(name)));
            }
            check_addresses(context);
            nb::gil_scoped_release release;
            return c.executeV2(addresses.data());
          },
          nb::arg("bindings"))
      .def(
          "set_optimization_profile_async",
          [](IExecutionContext& c, int32_t index, size_t stream) {
            return c.setOptimizationProfileAsync(index, reinterpret_cast<cudaStream_t>(stream));
          },
          nb::arg("profile_index"), nb::arg("stream_handle"))
      .def_prop_ro("active_optimization_profile", &IExecutionContext::getOptimizationProfile)
      .def_prop_rw("profiler", &IExecutionContext::getProfiler, &IExecutionContext::setProfiler,
                   nb::for_setter(nb::keep_alive<1, 2>()), nb::for_getter(nb::rv_policy::reference))
      .def_prop_rw("enqueue_emits_profile", &IExecutionContext::getEnqueueEmitsProfile,
                   &IExecutionContext::setEnqueueEmitsProfile)
      .def("report_to_profiler", &IExecutionContext::reportToProfiler)
      .def_prop_rw("name", &IExecutionContext::getName, [](IExecutionContext& c, const char* n) { c.setName(n); })
      .def_prop_ro("engine", &IExecutionContext::getEngine, nb::rv_policy::reference_internal);

  nb::class_<ICudaEngine>(m, "ICudaEngine")
      .def_prop_ro("num_io_tensors", &ICudaEngine::getNbIOTensors)
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
      .def("is_shape_inference_io", &ICudaEngine::isShapeInferenceIO, nb::arg("name"))
      .def(
          "get_tensor_profile_shape",
          [](const ICudaEngine& e, const char* n, int32_t p) {
            return nb::make_tuple(e.getProfileShape(n, p, OptProfileSelector::kMIN),
                                  e.getProfileShape(n, p, OptProfileSelector::kOPT),
                                  e.getProfileShape(n, p, OptProfileSelector::kMAX));
          },
          nb::arg("name"), nb::arg("profile_index"))
      .def_prop_ro("num_optimization_profiles", &ICudaEngine::getNbOptimizationProfiles)
      .def_prop_ro("num_layers", &ICudaEngine::getNbLayers)
      .def_prop_ro("num_aux_streams", &ICudaEngine::getNbAuxStreams)
      .def_prop_ro("name", &ICudaEngine::getName)
      .def_prop_ro(
          "on_device", [](ICudaEngine& e) { return wootz_engine_on_device(&e) != 0; },
          "Whether addresses that contexts take are of a device's memory (DeviceMemory) and not the host's.")
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
      .def("_read",
           [](ICudaEngine& e, nb::handle to, size_t address) {
             Py_buffer view;
             if (PyObject_GetBuffer(to.ptr(), &view, PyBUF_WRITABLE) != 0) throw nb::python_error();
             const std::unique_ptr<Py_buffer, decltype(&PyBuffer_Release)> owner(&view, PyBuffer_Release);
             if (wootz_device_copy(&e, view.buf, reinterpret_cast<void*>(address), static_cast<size_t>(view.len)) != 0)
               throw std::runtime_error("the copy from the device failed: see the log");
           })
      .def("is_debug_tensor", &ICudaEngine::isDebugTensor, nb::arg("name"))
      .def_prop_ro("device_memory_size_v2", &ICudaEngine::getDeviceMemorySizeV2)
      .def("get_device_memory_size_for_profile_v2", &ICudaEngine::getDeviceMemorySizeForProfileV2)
      .def(
          "create_execution_context",
          [](ICudaEngine& e) { return e.createExecutionContext(ExecutionContextAllocationStrategy::kSTATIC); },
          nb::rv_policy::take_ownership, nb::keep_alive<0, 1>())
      .def("create_engine_inspector", &ICudaEngine::createEngineInspector, nb::rv_policy::take_ownership,
           nb::keep_alive<0, 1>())
      .def(
          "report", [](ICudaEngine& e, const char* format) { return report_text(wootz_engine_report(&e, format)); },
          nb::arg("format") = "text", "What the plan holds, as \"text\", \"json\", \"html\", \"svg\" or \"values\".")
      .def("serialize",
           [](const ICudaEngine& e) {
             IHostMemory* plan = e.serialize();
             return plan == nullptr ? nb::object(nb::none()) : nb::cast(plan, nb::rv_policy::take_ownership);
           })
      .def("__iter__", [](const ICudaEngine& e) {
        nb::list names;
        for (int32_t i = 0; i < e.getNbIOTensors(); ++i) names.append(e.getIOTensorName(i));
        return nb::iter(names);
      });

  nb::class_<IRuntime>(m, "Runtime")
      .def_static(
          "_create",
          [](ILogger& logger) -> IRuntime* {
            keep_logger(logger);
            IRuntime* runtime = createInferRuntime(logger);
            if (runtime == nullptr) throw nb::type_error("the runtime could not be created: see the log");
            return runtime;
          },
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
      .def_prop_rw("max_threads", &IRuntime::getMaxThreads, &IRuntime::setMaxThreads)
      .def_prop_rw("engine_host_code_allowed", &IRuntime::getEngineHostCodeAllowed,
                   &IRuntime::setEngineHostCodeAllowed);

  m.def(
      "set_thread_pool",
      [](int threads, int spin_us, const std::vector<int>& affinity) {
        if (wootz_set_thread_pool(threads, spin_us, affinity.data(), static_cast<int>(affinity.size())) != 0)
          throw std::runtime_error(
              "the thread pool could not be set: an inference is running, or a value is out of range");
      },
      nb::arg("threads") = 0, nb::arg("spin_us") = -1, nb::arg("affinity") = std::vector<int>{});
}

}  // namespace wootz_python
