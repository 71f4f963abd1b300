// Builder, configuration, optimization profiles, host memory, timing cache.
#include <nanobind/stl/optional.h>

#include <cstdlib>
#include <memory>

#include "casters.h"
#include "wootz/extensions.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

using namespace nvinfer1;

namespace wootz_python {
namespace {

nb::object owned(IHostMemory* memory) {
  return memory == nullptr ? nb::object(nb::none()) : nb::cast(memory, nb::rv_policy::take_ownership);
}

int host_memory_buffer(PyObject* self, Py_buffer* view, int flags) {
  IHostMemory* memory = nullptr;
  if (!nb::try_cast(nb::handle(self), memory)) {
    PyErr_SetString(PyExc_BufferError, "not a host memory");
    return -1;
  }
  return PyBuffer_FillInfo(view, self, memory->data(), static_cast<Py_ssize_t>(memory->size()), 1, flags);
}

PyType_Slot host_memory_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(host_memory_buffer)}, {0, nullptr}};

void bind_host_memory(nb::module_& m) {
  nb::class_<IHostMemory>(m, "IHostMemory", nb::type_slots(host_memory_slots))
      .def_prop_ro("nbytes", &IHostMemory::size)
      .def_prop_ro("dtype", &IHostMemory::type)
      .def("__len__", &IHostMemory::size)
      .def("__bytes__", [](const IHostMemory& h) { return nb::bytes(static_cast<const char*>(h.data()), h.size()); });
}

void bind_timing_cache(nb::module_& m) {
  nb::class_<ITimingCache>(m, "ITimingCache")
      .def("serialize", [](const ITimingCache& c) { return owned(c.serialize()); })
      .def("combine", &ITimingCache::combine, nb::arg("input_cache"), nb::arg("ignore_mismatch"))
      .def("reset", &ITimingCache::reset);
}

void bind_profile(nb::module_& m) {
  nb::class_<IOptimizationProfile>(m, "IOptimizationProfile")
      .def(
          "set_shape",
          [](IOptimizationProfile& p, const char* input, const Dims& min, const Dims& opt, const Dims& max) {
            const bool ok = p.setDimensions(input, OptProfileSelector::kMIN, min) &&
                            p.setDimensions(input, OptProfileSelector::kOPT, opt) &&
                            p.setDimensions(input, OptProfileSelector::kMAX, max);
            if (!ok)
              throw nb::value_error(
                  (std::string("profile: the shapes of '") + input + "' do not satisfy min <= opt <= max").c_str());
          },
          nb::arg("input"), nb::arg("min"), nb::arg("opt"), nb::arg("max"))
      .def(
          "get_shape",
          [](const IOptimizationProfile& p, const char* input) {
            return nb::make_tuple(p.getDimensions(input, OptProfileSelector::kMIN),
                                  p.getDimensions(input, OptProfileSelector::kOPT),
                                  p.getDimensions(input, OptProfileSelector::kMAX));
          },
          nb::arg("input"))
      .def(
          "set_shape_input",
          [](IOptimizationProfile& p, const char* input, const std::vector<int64_t>& min,
             const std::vector<int64_t>& opt, const std::vector<int64_t>& max) {
            const auto set = [&](OptProfileSelector which, const std::vector<int64_t>& v) {
              return p.setShapeValuesV2(input, which, v.data(), static_cast<int32_t>(v.size()));
            };
            if (!set(OptProfileSelector::kMIN, min) || !set(OptProfileSelector::kOPT, opt) ||
                !set(OptProfileSelector::kMAX, max))
              throw nb::value_error((std::string("profile: bad shape values of '") + input + "'").c_str());
          },
          nb::arg("input"), nb::arg("min"), nb::arg("opt"), nb::arg("max"))
      .def("__bool__", &IOptimizationProfile::isValid);
}

using Config = nb::class_<IBuilderConfig>;

// What calibrates, and how.
#if NV_TENSORRT_MAJOR < 11
void bind_calibration(Config& config) {
  config
      .def_prop_rw("int8_calibrator", &IBuilderConfig::getInt8Calibrator, &IBuilderConfig::setInt8Calibrator,
                   nb::for_setter(nb::keep_alive<1, 2>()), nb::for_setter(nb::arg("calibrator").none()))
      .def("set_calibration_profile", &IBuilderConfig::setCalibrationProfile, nb::arg("profile"),
           nb::keep_alive<1, 2>())
      .def("get_calibration_profile", &IBuilderConfig::getCalibrationProfile, nb::rv_policy::reference_internal)
      .def("set_quantization_flag", &IBuilderConfig::setQuantizationFlag, nb::arg("flag"))
      .def("clear_quantization_flag", &IBuilderConfig::clearQuantizationFlag, nb::arg("flag"))
      .def("get_quantization_flag", &IBuilderConfig::getQuantizationFlag, nb::arg("flag"))
      .def_prop_rw("quantization_flags", &IBuilderConfig::getQuantizationFlags, &IBuilderConfig::setQuantizationFlags);
}
#else
void bind_calibration(Config&) {}
#endif

void bind_config(nb::module_& m) {
  Config config(m, "IBuilderConfig");
  bind_calibration(config);
  config.def("set_flag", &IBuilderConfig::setFlag)
      .def("clear_flag", &IBuilderConfig::clearFlag)
      .def("get_flag", &IBuilderConfig::getFlag)
      .def_prop_rw("flags", &IBuilderConfig::getFlags, &IBuilderConfig::setFlags)
      .def("set_memory_pool_limit", &IBuilderConfig::setMemoryPoolLimit, nb::arg("pool"), nb::arg("pool_size"))
      .def("get_memory_pool_limit", &IBuilderConfig::getMemoryPoolLimit, nb::arg("pool"))
      .def("add_optimization_profile", &IBuilderConfig::addOptimizationProfile, nb::arg("profile"),
           nb::keep_alive<1, 2>())
      .def_prop_ro("num_optimization_profiles", &IBuilderConfig::getNbOptimizationProfiles)
      .def_prop_rw(
          "builder_optimization_level", [](IBuilderConfig& c) { return c.getBuilderOptimizationLevel(); },
          &IBuilderConfig::setBuilderOptimizationLevel)
      .def_prop_rw("profiling_verbosity", &IBuilderConfig::getProfilingVerbosity,
                   &IBuilderConfig::setProfilingVerbosity)
      .def_prop_rw("avg_timing_iterations", &IBuilderConfig::getAvgTimingIterations,
                   &IBuilderConfig::setAvgTimingIterations)
      .def_prop_rw("engine_capability", &IBuilderConfig::getEngineCapability, &IBuilderConfig::setEngineCapability)
      .def_prop_rw("max_aux_streams", &IBuilderConfig::getMaxAuxStreams,
                   [](IBuilderConfig& c, int32_t streams) { c.setMaxAuxStreams(streams); })
      .def_prop_rw("max_num_tactics", &IBuilderConfig::getMaxNbTactics, &IBuilderConfig::setMaxNbTactics)
      .def_prop_rw("hardware_compatibility_level", &IBuilderConfig::getHardwareCompatibilityLevel,
                   &IBuilderConfig::setHardwareCompatibilityLevel)
      .def_prop_rw("default_device_type", &IBuilderConfig::getDefaultDeviceType, &IBuilderConfig::setDefaultDeviceType)
      .def_prop_rw("progress_monitor", &IBuilderConfig::getProgressMonitor, &IBuilderConfig::setProgressMonitor,
                   nb::for_setter(nb::keep_alive<1, 2>()), nb::for_setter(nb::arg("monitor").none()))
      .def("set_tactic_sources", &IBuilderConfig::setTacticSources)
      .def("get_tactic_sources", &IBuilderConfig::getTacticSources)
      .def("set_preview_feature", &IBuilderConfig::setPreviewFeature)
      .def("get_preview_feature", &IBuilderConfig::getPreviewFeature)
      .def_prop_rw("DLA_core", &IBuilderConfig::getDLACore, &IBuilderConfig::setDLACore)
      .def_prop_rw("tiling_optimization_level", &IBuilderConfig::getTilingOptimizationLevel,
                   &IBuilderConfig::setTilingOptimizationLevel)
      .def_prop_rw("l2_limit_for_tiling", &IBuilderConfig::getL2LimitForTiling, &IBuilderConfig::setL2LimitForTiling)
      .def_prop_rw(
          "profile_stream", [](const IBuilderConfig& c) { return reinterpret_cast<uintptr_t>(c.getProfileStream()); },
          [](IBuilderConfig& c, uintptr_t stream) { c.setProfileStream(reinterpret_cast<cudaStream_t>(stream)); })
      .def("reset", &IBuilderConfig::reset)
      .def(
          "create_timing_cache",
          [](const IBuilderConfig& c, nb::bytes blob) {
            ITimingCache* cache = c.createTimingCache(blob.size() == 0 ? nullptr : blob.c_str(), blob.size());
            return cache == nullptr ? nb::object(nb::none()) : nb::cast(cache, nb::rv_policy::take_ownership);
          },
          nb::arg("serialized_timing_cache"))
      .def("set_timing_cache", &IBuilderConfig::setTimingCache, nb::arg("cache"), nb::arg("ignore_mismatch"),
           nb::keep_alive<1, 2>())
      .def("get_timing_cache", &IBuilderConfig::getTimingCache, nb::rv_policy::reference_internal)
      .def(
          "set_option",
          [](IBuilderConfig& c, const char* key, std::optional<std::string> value) {
            if (wootz_config_set_option(&c, key, value ? value->c_str() : nullptr) != 0)
              throw nb::value_error((std::string("no option '") + key + "', or not with that value").c_str());
          },
          nb::arg("key"), nb::arg("value").none(), "Options beyond TensorRT's: see include/wootz/extensions.h.");
}

void bind_default_backend(nb::module_& m) {
  m.def(
      "default_backend",
      [] {
        const char* reason = "";
        const std::string name = wootz_default_backend(&reason);
        return nb::make_tuple(name, reason);
      },
      "The backend of a build whose options do not say it, and why it is this one.");
}

void bind_builder_class(nb::module_& m) {
  nb::class_<IBuilder>(m, "Builder")
      .def_static(
          "_create",
          [](ILogger& logger) -> IBuilder* {
            keep_logger(logger);
            IBuilder* builder = createInferBuilder(logger);
            if (builder == nullptr) throw nb::type_error("the builder could not be created: see the log");
            return builder;
          },
          nb::rv_policy::take_ownership, nb::keep_alive<0, 1>())
      .def("create_network", &IBuilder::createNetworkV2, nb::arg("flags") = 0, nb::rv_policy::take_ownership,
           nb::keep_alive<0, 1>())
      .def("create_builder_config", &IBuilder::createBuilderConfig, nb::rv_policy::take_ownership,
           nb::keep_alive<0, 1>())
      .def("create_optimization_profile", &IBuilder::createOptimizationProfile, nb::rv_policy::reference_internal)
      .def(
          "build_serialized_network",
          [](IBuilder& b, INetworkDefinition& network, IBuilderConfig& config) {
            IHostMemory* plan = nullptr;
            {
              nb::gil_scoped_release release;
              plan = b.buildSerializedNetwork(network, config);
            }
            return owned(plan);
          },
          nb::arg("network"), nb::arg("config"))
      .def(
          "build_serialized_network_to_stream",
          [](IBuilder& b, INetworkDefinition& network, IBuilderConfig& config, IStreamWriter& writer) {
            const nb::gil_scoped_release release;
            return b.buildSerializedNetworkToStream(network, config, writer);
          },
          nb::arg("network"), nb::arg("config"), nb::arg("writer"))
      .def(
          "build_file",
          [](IBuilder& b, INetworkDefinition& network, IBuilderConfig& config, const char* path) {
            nb::gil_scoped_release release;
            return wootz_build_file(&b, &network, &config, path) == 0;
          },
          nb::arg("network"), nb::arg("config"), nb::arg("path"),
          "Builds and writes the plan to a file, with one weight in memory at a time; False (see the log) on failure.")
      .def("is_network_supported", &IBuilder::isNetworkSupported, nb::arg("network"), nb::arg("config"),
           nb::call_guard<nb::gil_scoped_release>())
      .def_prop_rw("max_threads", &IBuilder::getMaxThreads, &IBuilder::setMaxThreads)
      .def_prop_ro("num_DLA_cores", &IBuilder::getNbDLACores)
      .def_prop_ro("logger", &IBuilder::getLogger, nb::rv_policy::reference_internal)
      .def("reset", &IBuilder::reset)
      .def("report_json", [](IBuilder& b) { return std::string(wootz_build_report(&b)); })
      .def(
          "report",
          [](IBuilder& b, const char* format) {
            const std::unique_ptr<IHostMemory> text(static_cast<IHostMemory*>(wootz_build_report_as(&b, format)));
            if (text == nullptr) throw std::runtime_error("the report could not be made: see the log");
            return nb::str(static_cast<const char*>(text->data()), text->size() - 1);
          },
          nb::arg("format") = "text", "Report of the last build, as \"text\", \"json\", \"html\" or \"svg\".");
}

void bind_backend_libraries(nb::module_& m) {
  m.def(
      "_backend_libraries",
      [](const char* backend) {
        const char* const text = wootz_backend_libraries(backend);
        if (text == nullptr) throw nb::value_error("no such backend: see the log");
        return std::string(text);
      },
      nb::arg("backend"));
}

}  // namespace

void bind_builder(nb::module_& m) {
  bind_host_memory(m);
  bind_timing_cache(m);
  bind_profile(m);
  bind_config(m);
  bind_default_backend(m);
  bind_builder_class(m);
  bind_backend_libraries(m);
}

}  // namespace wootz_python
