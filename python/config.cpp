// Configuration of a build.
#include <nanobind/stl/optional.h>

#include "casters.h"
#include "layers/layer.h"
#include "wootz/extensions.h"

using namespace nvinfer1;

namespace wootz_python {
namespace {

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

void bind_flags(Config& config) {
  config.def("set_flag", &IBuilderConfig::setFlag, nb::arg("flag"))
      .def("clear_flag", &IBuilderConfig::clearFlag, nb::arg("flag"))
      .def("get_flag", &IBuilderConfig::getFlag, nb::arg("flag"))
      .def_prop_rw("flags", &IBuilderConfig::getFlags, &IBuilderConfig::setFlags)
      .def("set_tactic_sources", &IBuilderConfig::setTacticSources, nb::arg("tactic_sources"))
      .def("get_tactic_sources", &IBuilderConfig::getTacticSources)
      .def("set_preview_feature", &IBuilderConfig::setPreviewFeature, nb::arg("feature"), nb::arg("enable"))
      .def("get_preview_feature", &IBuilderConfig::getPreviewFeature, nb::arg("feature"));
}

// How much the search for kernels may take, and what it is for.
void bind_search(Config& config) {
  config.def("set_memory_pool_limit", &IBuilderConfig::setMemoryPoolLimit, nb::arg("pool"), nb::arg("pool_size"))
      .def("get_memory_pool_limit", &IBuilderConfig::getMemoryPoolLimit, nb::arg("pool"))
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
      .def_prop_rw("runtime_platform", &IBuilderConfig::getRuntimePlatform, &IBuilderConfig::setRuntimePlatform)
      .def_prop_rw("tiling_optimization_level", &IBuilderConfig::getTilingOptimizationLevel,
                   setter(&IBuilderConfig::setTilingOptimizationLevel, "tiling_optimization_level"))
      .def_prop_rw("l2_limit_for_tiling", &IBuilderConfig::getL2LimitForTiling,
                   setter(&IBuilderConfig::setL2LimitForTiling, "l2_limit_for_tiling"))
      .def_prop_rw("remote_auto_tuning_config", &IBuilderConfig::getRemoteAutoTuningConfig,
                   setter(&IBuilderConfig::setRemoteAutoTuningConfig, "remote_auto_tuning_config"))
#if NV_TENSORRT_MAJOR >= 11
      .def_prop_rw("build_route", &IBuilderConfig::getBuildRoute, setter(&IBuilderConfig::setBuildRoute, "build_route"))
      .def_prop_ro("all_build_routes", &IBuilderConfig::getAllBuildRoutes)
#endif
      .def_prop_rw(
          "profile_stream", [](const IBuilderConfig& c) { return reinterpret_cast<uintptr_t>(c.getProfileStream()); },
          [](IBuilderConfig& c, StreamHandle stream) { c.setProfileStream(stream.handle); });
}

void bind_devices(Config& config) {
  config
      .def_prop_rw("default_device_type", &IBuilderConfig::getDefaultDeviceType, &IBuilderConfig::setDefaultDeviceType)
      .def("set_device_type", &IBuilderConfig::setDeviceType, nb::arg("layer"), nb::arg("device_type"))
      .def("get_device_type", &IBuilderConfig::getDeviceType, nb::arg("layer"))
      .def("is_device_type_set", &IBuilderConfig::isDeviceTypeSet, nb::arg("layer"))
      .def("reset_device_type", &IBuilderConfig::resetDeviceType, nb::arg("layer"))
      .def("can_run_on_DLA", &IBuilderConfig::canRunOnDLA, nb::arg("layer"))
      .def_prop_rw("DLA_core", &IBuilderConfig::getDLACore, &IBuilderConfig::setDLACore);
}

std::vector<std::string> libraries_of(const IBuilderConfig& config) {
  std::vector<std::string> paths;
  for (int32_t i = 0; i < config.getNbPluginsToSerialize(); ++i) paths.emplace_back(config.getPluginToSerialize(i));
  return paths;
}

void set_libraries(IBuilderConfig& config, const std::vector<std::string>& paths) {
  std::vector<const char*> all;
  for (const std::string& path : paths) all.push_back(path.c_str());
  config.setPluginsToSerialize(all.data(), static_cast<int32_t>(all.size()));
}

void bind_timing_cache_use(Config& config) {
  config
      .def(
          "create_timing_cache",
          [](const IBuilderConfig& c, nb::handle blob) {
            const Buffer bytes(blob);
            ITimingCache* cache = c.createTimingCache(bytes.size() == 0 ? nullptr : bytes.data(), bytes.size());
            return cache == nullptr ? nb::object(nb::none()) : nb::cast(cache, nb::rv_policy::take_ownership);
          },
          nb::arg("serialized_timing_cache"))
      .def("set_timing_cache", &IBuilderConfig::setTimingCache, nb::arg("cache"), nb::arg("ignore_mismatch"),
           nb::keep_alive<1, 2>())
      .def("get_timing_cache", &IBuilderConfig::getTimingCache, nb::rv_policy::reference_internal);
}

}  // namespace

void bind_config(nb::module_& m) {
  Config config(m, "IBuilderConfig");
  bind_calibration(config);
  bind_flags(config);
  bind_search(config);
  bind_devices(config);
  bind_timing_cache_use(config);
  config
      .def("add_optimization_profile", &IBuilderConfig::addOptimizationProfile, nb::arg("profile"),
           nb::keep_alive<1, 2>())
      .def_prop_ro("num_optimization_profiles", &IBuilderConfig::getNbOptimizationProfiles)
      .def_prop_rw("plugins_to_serialize", &libraries_of, &set_libraries)
      .def_prop_rw("progress_monitor", &IBuilderConfig::getProgressMonitor, &IBuilderConfig::setProgressMonitor,
                   nb::for_setter(nb::keep_alive<1, 2>()), nb::for_setter(nb::arg("monitor").none()))
      .def("reset", &IBuilderConfig::reset)
      .def(
          "set_option",
          [](IBuilderConfig& c, const char* key, std::optional<std::string> value) {
            if (wootz_config_set_option(&c, key, value ? value->c_str() : nullptr) != 0)
              throw nb::value_error((std::string("no option '") + key + "', or not with that value").c_str());
          },
          nb::arg("key"), nb::arg("value").none(), "Options beyond TensorRT's: see include/wootz/extensions.h.");
}

}  // namespace wootz_python
