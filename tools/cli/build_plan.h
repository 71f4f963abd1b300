// From a model file to a plan, as the subcommands ask for it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "NvOnnxParser.h"
#include "calibration.h"
#include "logger.h"
#include "shapes.h"

namespace wootz_cli {

struct ProfileShapes {
  Shapes min_shapes, opt_shapes, max_shapes;
};
// What a flag sets; false: it is refused, for a reason that the library has logged.
template <typename T>
struct Setting {
  std::string flag;
  std::function<bool(T&)> set;
};

struct BuildRequest : ProfileShapes {
  std::string model;
  std::vector<ProfileShapes> more_profiles;                 // after the first
  std::map<std::string, std::string> options;               // of extensions.h
  std::vector<nvinfer1::BuilderFlag> flags, cleared_flags;  // in addition to the default ones
  std::map<nvinfer1::MemoryPoolType, size_t> pools;
  std::string timing_cache;  // file, read if there and written back
  CalibrationRequest calibration;
  int optimization_level = -1;
  int aux_streams = -1;  // most in addition to the caller's; -1: the builder decides
  int avg_timing = -1;   // least batches that a tactic is timed in; -1: as the config has it
  bool strongly_typed = false;
  std::vector<std::string> plugins, plugins_in_plan;  // libraries to load, and those that the plan keeps
  // In this order: before the model is read, after it, before the build.
  std::vector<Setting<nvonnxparser::IParser>> on_parser;
  std::vector<Setting<nvinfer1::INetworkDefinition>> on_network;
  std::vector<Setting<nvinfer1::IBuilderConfig>> on_config;
  // Detailed, so that `wootz inspect` has something to show.
  nvinfer1::ProfilingVerbosity verbosity = nvinfer1::ProfilingVerbosity::kDETAILED;
  bool progress = true;  // a bar on stderr, when it is a terminal
  bool page = false;
  std::string output;  // file that the plan is written to; empty: it stays in memory
};
struct Built {
  std::unique_ptr<nvinfer1::IHostMemory> plan;  // null: it is in the file that was asked for, and not in memory
  size_t plan_bytes = 0;
  std::string report;  // JSON
  std::string page;    // HTML, when it was asked for
  double seconds = 0;
};
// Failure: what failed, with what the library logged.
Built build_plan(const BuildRequest& request, Logger& logger);

// What a model takes: types, and shapes, which the request says where extents are open.
InputForms forms_of_model(const BuildRequest& request, Logger& logger);
// wootz_quantize() with the request's model, options and progress: its report as JSON.
std::string quantize_model(const BuildRequest& request, const std::string& output, void* batches,
                           const std::string& options, Logger& logger);

}  // namespace wootz_cli
