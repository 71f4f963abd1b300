// The parts of `wootz exec`: flags, building, measuring, what is printed and written.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "build_plan.h"
#include "exec_values.h"
#include "session.h"
#include "timing.h"

namespace wootz_cli {

using Files = std::vector<std::pair<std::string, std::string>>;  // names, and files of theirs

// Inputs, and the outputs that they are to give.
struct Reference {
  Files inputs, outputs;
};
enum class Loss { kL0, kL1, kL2, kLInf, kCos };
struct Accuracy {
  Loss algorithm = Loss::kL1;
  double threshold = 1e-5, atol = 1e-5, rtol = 1e-5;
};

// The search for the fastest build route.
struct Tuning {
  enum class Search { kFast, kFull, kMixed };
  bool wanted = false, dry_run = false, go_on = false, save_all = false;
  Search search = Search::kFast;
  std::string routes, cache, result;  // files
  double seconds = 0;                 // most of them; 0: until it is done
};

struct Exec {
  BuildRequest build;
  Tuning tuning;
  std::string save_engine, load_engine;
  bool skip_inference = false;

  // Of the plan and the engine.
  bool help_routes = false, stream_reader = false, version_only = false, time_deserialize = false;
  std::string temporary_directory;
  std::optional<uint32_t> temporary_files;  // a TempfileControlFlag each
  RuntimeKind runtime = RuntimeKind::kFull;
  std::string lean_library;
  std::vector<std::string> plugins;  // libraries to load
  std::vector<std::string> plugins_in_plan;
  std::string refit_model;  // whose weights the engine gets before it runs; empty: none
  bool time_refit = false, dump_refit = false;
  std::string weight_budget;  // as it is written: "-1", "20%", "1G"; empty: none

  // Of the inferences.
  std::string device;  // a backend, a GPU's number, or empty
  std::string shapes;
  Files load_inputs;
  std::map<int64_t, Reference> references;
  Accuracy accuracy;
  int streams = 1, profile = 0;
  nvinfer1::ExecutionContextAllocationStrategy allocation = nvinfer1::ExecutionContextAllocationStrategy::kSTATIC;
  double cache_ratio = 0;
  std::optional<bool> spin;  // none: as it is by default
  bool managed = false, replay = true;
  TimingOptions timing;

  // What is printed and written.
  int avg_runs = 10;
  std::vector<double> percentiles{90, 95, 99};
  bool verbose = false, dump_layers = false, dump_profile = false, dump_output = false, dump_raw = false;
  bool dump_profiles = false, separate_profile_run = false;
  std::string export_times, export_layers, export_output, export_profile;
  Files debug_tensors;
  std::vector<std::string> all_debug_tensors;  // how: "summary", "numpy", "string", "raw"

  // While flags are read: what --profile and --refPair said last.
  int64_t shapes_of = 0, reference = 0;
  std::vector<std::pair<const char*, nvinfer1::BuilderFlag>> precisions;  // flags that allow types
  std::vector<std::string> given;     // flags on the command line, by their first names
  std::vector<std::string> warnings;  // known already: one line each, beginning with the flag
};

// Nothing when help was asked for, which it prints. Usage: wrong usage. Failure: a flag for what is not here.
std::optional<Exec> parse_exec(int argc, char** argv);
std::string exec_help();
// What is to be said of flags that do not act on an engine of this kind, each by its name.
std::vector<std::string> remarks_on(const Exec& exec, bool on_gpu);

// Settles which device the build is for. Failure: it is not there.
void choose_device(Exec& e);
// A session with the engine of the model or the plan; null: none is needed.
std::unique_ptr<Session> engine_of(Exec& e, Logger& logger);
void time_deserialization(const Exec& e, Logger& logger);
void print_plan_version(const std::string& path, Logger& logger);
void print_profiles(nvinfer1::ICudaEngine& engine);
void print_refittable(nvinfer1::ICudaEngine& engine, Logger& logger);

// Sets the fastest route in the request. False: there is no more to do.
bool tune_routes(Exec& e, Logger& logger);
void print_routes();

// The inferences, and all that is printed and written of them.
void run_inferences(std::unique_ptr<Session> first, const Exec& e, Logger& logger);

// Bytes of streamable weights that may stay in memory: "-2" all, "-1" what is free, "40%", "512M", without a unit
// bytes. Usage names the flag.
int64_t weight_budget(const std::string& text, const nvinfer1::ICudaEngine& engine);

// Averages of every so many inferences, then the summary.
void print_trace(const Trace& trace, const Exec& exec);
void export_trace(const Trace& trace, const std::string& path);

// Values of inputs and outputs, and what differs from what they should be.
void print_outputs(const std::map<std::string, Array>& outputs);
void export_outputs(const std::map<std::string, Array>& outputs, const std::string& path);
void write_raw(const std::map<std::string, Array>& arrays, const char* role);
void write_debug_tensors(const std::map<std::string, Array>& values, const Exec& e);
// Of a .npy file, or of one with nothing but the elements.
Array read_tensor(const std::string& path, nvinfer1::DataType type, const std::vector<int64_t>& shape);
// Failure: an output differs by more than the threshold, or by what no number says.
void compare_outputs(const std::map<std::string, Array>& outputs, const Reference& reference, const Accuracy& accuracy);

}  // namespace wootz_cli
