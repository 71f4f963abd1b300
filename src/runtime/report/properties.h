// Names of Program::properties: what a build keeps in a plan beside the steps.
#pragma once

#include <functional>
#include <map>
#include <string>

namespace wootz::property {

inline constexpr char kVerbosity[] = "profiling_verbosity";
inline constexpr char kTacticSources[] = "tactic_sources";
inline constexpr char kCompatibility[] = "hardware_compatibility";
inline constexpr char kDebugTensors[] = "debug_tensors";    // JSON: list of names
inline constexpr char kDebugUnfused[] = "debug_unfused";    // "1"
inline constexpr char kProfileValues[] = "profile_values";  // JSON: input -> per profile [min, opt, max]
inline constexpr char kStreaming[] = "weight_streaming";    // "1": weights may be brought in by the steps
inline constexpr char kDebugSync[] = "debug_sync";          // "1": contexts begin with it
inline constexpr char kFormats[] = "formats";               // JSON: input or output -> number of its TensorFormat
inline constexpr char kApiVersion[] = "api_version";        // NV_TENSORRT_VERSION at the level of who built it
inline constexpr char kVersionCompatible[] = "version_compatible";  // and whether the plan has a runtime:
inline constexpr char kWithRuntime[] = "with_runtime", kWithoutRuntime[] = "without_runtime";
inline constexpr char kPortable[] = "portable";    // "1": constants are as the model has them (runtime/adapt.h)
inline constexpr char kThreads[] = "threads";      // of one inference
inline constexpr char kReport[] = "build_report";  // JSON: report/record.h
inline constexpr char kValues[] = "values";        // JSON: runtime/report/value_map.h
inline constexpr char kMetadata[] = "metadata";    // JSON: layer name -> text

// Of those that are "1" or not there.
inline bool is_on(const std::map<std::string, std::string, std::less<>>& properties, const char* name) {
  const auto found = properties.find(name);
  return found != properties.end() && found->second == "1";
}

}  // namespace wootz::property
