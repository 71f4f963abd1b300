// Engines.
#include <memory>

#include "device.h"
#include "wootz/extensions.h"

using namespace nvinfer1;

namespace wootz_python {
namespace {

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
          [](ICudaEngine& e, StreamHandle stream) {
            int failed = 0;
            {
              const nb::gil_scoped_release release;
              failed = wootz_device_wait(&e, stream.handle);
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
#if NV_TENSORRT_MAJOR < 11
      .def_prop_ro("device_memory_size", &ICudaEngine::getDeviceMemorySize)
      .def("get_device_memory_size_for_profile", &ICudaEngine::getDeviceMemorySizeForProfile, nb::arg("profile_index"))
#endif
      .def("get_device_memory_size_for_profile_v2", &ICudaEngine::getDeviceMemorySizeForProfileV2,
           nb::arg("profile_index"));
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
  engine.def("serialize", [](const ICudaEngine& e) { return owned(e.serialize()); })
      .def("create_serialization_config", &ICudaEngine::createSerializationConfig, nb::rv_policy::take_ownership,
           nb::keep_alive<0, 1>())
      .def(
          "serialize_with_config",
          [](const ICudaEngine& e, ISerializationConfig& config) { return owned(e.serializeWithConfig(config)); },
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

// A context runs with the engine, and with the configuration that it was made by.
void bind_contexts(nb::module_& m, Engine& engine) {
  using Strategy = ExecutionContextAllocationStrategy;
  nb::class_<IRuntimeConfig>(m, "IRuntimeConfig")
      .def("set_execution_context_allocation_strategy", &IRuntimeConfig::setExecutionContextAllocationStrategy,
           nb::arg("strategy") = Strategy::kSTATIC)
      .def("get_execution_context_allocation_strategy", &IRuntimeConfig::getExecutionContextAllocationStrategy);
  engine
      .def(
          "create_execution_context",
          [](ICudaEngine& e, Strategy strategy) {
            const nb::gil_scoped_release release;  // plugins of other threads may be waiting for it
            return e.createExecutionContext(strategy);
          },
          nb::arg("strategy") = Strategy::kSTATIC, nb::rv_policy::take_ownership, nb::keep_alive<0, 1>())
      .def(
          "create_execution_context",
          [](ICudaEngine& e, IRuntimeConfig* config) {
            const nb::gil_scoped_release release;
            return config == nullptr ? e.createExecutionContext(Strategy::kSTATIC) : e.createExecutionContext(config);
          },
          nb::arg("runtime_config").none() = nb::none(), nb::rv_policy::take_ownership, nb::keep_alive<0, 1>(),
          nb::keep_alive<0, 2>())
#if NV_TENSORRT_MAJOR < 11
      .def("create_execution_context_without_device_memory", &ICudaEngine::createExecutionContextWithoutDeviceMemory,
           nb::rv_policy::take_ownership, nb::keep_alive<0, 1>())
#endif
      .def("create_runtime_config", &ICudaEngine::createRuntimeConfig, nb::rv_policy::take_ownership,
           nb::keep_alive<0, 1>())
      .def("create_engine_inspector", &ICudaEngine::createEngineInspector, nb::rv_policy::take_ownership,
           nb::keep_alive<0, 1>());
}

nb::object text_of_report(ICudaEngine& engine, const char* format) {
  const std::unique_ptr<IHostMemory> text(static_cast<IHostMemory*>(wootz_engine_report(&engine, format)));
  if (text == nullptr) throw std::runtime_error("the report could not be made: see the log");
  return nb::str(static_cast<const char*>(text->data()), text->size() - 1);
}

// What the engine says of itself.
void bind_facts(Engine& engine) {
  engine.def_prop_ro("num_optimization_profiles", &ICudaEngine::getNbOptimizationProfiles)
      .def_prop_ro("num_layers", &ICudaEngine::getNbLayers)
      .def_prop_ro("num_aux_streams", &ICudaEngine::getNbAuxStreams)
      .def_prop_ro("name", &ICudaEngine::getName)
      .def_prop_ro("refittable", &ICudaEngine::isRefittable)
      .def_prop_ro("engine_capability", &ICudaEngine::getEngineCapability)
      .def_prop_ro("hardware_compatibility_level", &ICudaEngine::getHardwareCompatibilityLevel)
      .def_prop_ro("tactic_sources", &ICudaEngine::getTacticSources)
      .def_prop_ro("profiling_verbosity", &ICudaEngine::getProfilingVerbosity)
#if NV_TENSORRT_MAJOR < 11
      .def_prop_ro("has_implicit_batch_dimension", &ICudaEngine::hasImplicitBatchDimension)
#endif
      .def("get_engine_stat", &ICudaEngine::getEngineStat, nb::arg("stat") = EngineStat::kTOTAL_WEIGHTS_SIZE)
      .def("report", &text_of_report, nb::arg("format") = "text",
           "What the plan holds, as \"text\", \"json\", \"html\", \"svg\" or \"values\".");
}

}  // namespace

void bind_engine(nb::module_& m) {
  Engine engine(m, "ICudaEngine");
  bind_engine_tensors(engine);
  bind_engine_device(engine);
  bind_facts(engine);
  bind_contexts(m, engine);
  bind_serialization(m, engine);
  bind_weight_streaming(engine);
}

}  // namespace wootz_python
