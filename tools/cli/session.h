// A loaded plan with buffers: loading, running, reading results.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "NvInfer.h"
#include "logger.h"
#include "npy.h"
#include "shapes.h"

namespace wootz_cli {

// Which runtime loads and runs a plan: this command's own, that of the library without a compiler, or the plan's.
enum class RuntimeKind { kFull, kLean, kDispatch };

// How an engine is loaded. `native`: machine code in the plan may be run. `device`: as wootz_runtime_set_device() takes
// it.
struct LoadOptions {
  bool native = false;
  int device = -1;
  bool stream_reader = false;  // through IStreamReaderV2, and not mapped
  std::string temporary_directory;
  std::optional<uint32_t> temporary_files;
  std::vector<std::string> plugins;  // libraries to load before
  RuntimeKind runtime = RuntimeKind::kFull;
  std::string lean_library;  // a runtime in place of the plan's and the lean one; empty: none
};
struct ContextOptions {
  nvinfer1::ExecutionContextAllocationStrategy allocation = nvinfer1::ExecutionContextAllocationStrategy::kSTATIC;
  int profile = 0;
  bool managed = false;  // inputs and outputs in memory that host and device share
  bool replay = true;    // false: no recording of a device's
};

// An engine, alone.
struct Loaded {
  std::unique_ptr<nvinfer1::IRuntime> opener;  // of `runtime`, where that is another library's; outlives it
  std::unique_ptr<nvinfer1::IRuntime> runtime;
  std::unique_ptr<nvinfer1::ICudaEngine> engine;
  double ms = 0;
};
// The file is mapped, not read, unless a stream reader is asked for.
std::shared_ptr<Loaded> load_engine(const std::string& path, const LoadOptions& options, Logger& logger);
std::shared_ptr<Loaded> load_engine(nvinfer1::IHostMemory& plan, const LoadOptions& options, Logger& logger);

// What a plan's first bytes say. Failure: it is no plan.
struct PlanHeader {
  int format = 0;
  std::string version;        // of the library that wrote it; empty: it is not version-compatible
  int64_t runtime_bytes = 0;  // of the runtime in it
  bool of_another() const;    // version of the library than this
};
PlanHeader plan_header(const std::string& path, Logger& logger);

// Random elements for an array's shape and type: floats of the normal distribution, integers 0 or 1, zeros of other
// types.
void fill_random(Array& input, std::mt19937& random);

// Integers of an array; none: it stays as it is.
void fill_values(Array& input, const std::vector<int64_t>& values);

// An engine with a context and buffers for one set of shapes.
class Session {
 public:
  Session(const std::string& path, Logger& logger, const LoadOptions& options = {});
  Session(nvinfer1::IHostMemory& plan, Logger& logger, LoadOptions options);  // of a plan that was made just now
  // One of several with the same engine.
  Session(std::shared_ptr<Loaded> loaded, const ContextOptions& options, Logger& logger);
  ~Session();
  nvinfer1::ICudaEngine& engine() { return *engine_; }
  const std::shared_ptr<Loaded>& loaded() const { return loaded_; }
  const ContextOptions& options() const { return options_; }
  nvinfer1::IExecutionContext& context() { return *context_; }
  // Shapes: given ones, else those of the arrays, else the profile's optimum. Inputs without an array are filled with
  // seeded random numbers (integers 0 or 1); of one whose values are a shape, what is given are its values.
  void prepare(const Shapes& shapes, const std::map<std::string, Array>& inputs);
  // What an input's shape is to be without an array: the one given, the engine's own or the profile's optimum.
  std::vector<int64_t> shape_of(const std::string& input, const Shapes& shapes) const;
  void run();
  void enqueue(void* stream = nullptr);  // without waiting, where the engine is on a device
  void run_many(int count);              // one after the other, waited for at the end
  bool on_device() const;
  // Where inputs and outputs are after a run.
  struct Place {
    void* device = nullptr;        // null: the host's memory is used as it is
    const void* values = nullptr;  // of an input; null: an output
    size_t bytes = 0;
  };
  std::vector<Place> places() const;
  std::map<std::string, Array> outputs() const;
  std::map<std::string, Array> inputs() const;
  // Values of the model to keep from the next run on, by name; "all": every one that the plan writes. Failure: the name
  // is unknown, or the value lives inside a fused region, which the message names.
  void tap(const std::vector<std::string>& names);
  const std::map<std::string, Array>& tapped() const;
  // The same of tensors that were marked before the build; "all": all of them, and those that no fusion removed.
  void watch(const std::vector<std::string>& names);
  // As wootz_engine_report() gives it.
  std::string report(const char* format) const;
  double load_ms = 0;

 private:
  class Output;
  class Listener;
  void start(std::shared_ptr<Loaded> loaded);
  void give_memory();
  // Failure: a name is no input's, or an array is of another type.
  void check_inputs(const Shapes& shapes, const std::map<std::string, Array>& given) const;
  // Pads the array, and copies it to the device where the engine reads it there.
  void set_input_address(const char* name, Array& input);
  void prepare_outputs();
  // An input whose values are a shape and whose extents are fixed.
  bool takes_values(const std::string& input) const {
    return engine_->isShapeInferenceIO(input.c_str()) && !dynamic(engine_->getTensorShape(input.c_str()));
  }
  // Its values: those given, else the profile's optimum; none: there is neither.
  std::vector<int64_t> shape_values(const char* input, const Shapes& shapes) const;

  std::map<std::string, void*> device_memory_;       // of inputs
  std::map<std::string, Array> inputs_;              // these four outlive the context
  std::map<std::string, std::vector<char>> packed_;  // memory of inputs that are not row-major
  std::map<std::string, std::unique_ptr<Output>> outputs_;
  std::unique_ptr<Listener> listener_;
  std::shared_ptr<Loaded> loaded_;
  nvinfer1::ICudaEngine* engine_ = nullptr;
  std::unique_ptr<nvinfer1::IExecutionContext> context_;
  ContextOptions options_;
  void* own_memory_ = nullptr;  // of the context, on the device
  std::vector<char> host_memory_;
  Logger& logger_;
};

// Sorted times of single inferences in ms: at least `iterations` of them, for at least `seconds`, after `warmup_ms`.
std::vector<double> time_inferences(Session& session, int iterations, double seconds, double warmup_ms);
double percentile(const std::vector<double>& sorted, double percent);

}  // namespace wootz_cli
