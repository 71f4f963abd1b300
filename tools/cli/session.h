// A loaded plan with buffers: loading, running, reading results.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "NvInfer.h"
#include "logger.h"
#include "npy.h"
#include "shapes.h"

namespace wootz_cli {

// An engine with a context and buffers for one set of shapes.
class Session {
 public:
  // The file is mapped, not read. `native`: machine code in it may be run. `device`: as wootz_runtime_set_device()
  // takes it.
  Session(const std::string& path, Logger& logger, bool native = false, int device = -1);
  Session(nvinfer1::IHostMemory& plan, Logger& logger, int device = -1);
  ~Session();
  nvinfer1::ICudaEngine& engine() { return *engine_; }
  nvinfer1::IExecutionContext& context() { return *context_; }
  // Shapes: given ones, else those of the arrays, else the profile's optimum. Inputs without an array are filled with
  // seeded random numbers (integers 0 or 1).
  void prepare(const Shapes& shapes, const std::map<std::string, Array>& inputs);
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
  // Values of the model to keep from the next run on, by name; "all": every one that the plan writes. Failure: the name
  // is unknown, or the value lives inside a fused region, which the message names.
  void tap(const std::vector<std::string>& names);
  const std::map<std::string, Array>& tapped() const;
  // As wootz_engine_report() gives it.
  std::string report(const char* format) const;
  double load_ms = 0;

 private:
  class Output;
  class Listener;
  void start(const std::function<nvinfer1::ICudaEngine*()>& load, bool native, int device);
  // Failure: a name is no input's, or an array is of another type.
  void check_inputs(const Shapes& shapes, const std::map<std::string, Array>& given) const;
  // Pads the array, and copies it to the device where the engine reads it there.
  void set_input_address(const char* name, Array& input);
  void prepare_outputs();

  std::map<std::string, void*> device_memory_;  // of inputs
  std::map<std::string, Array> inputs_;         // these three outlive the context
  std::map<std::string, std::unique_ptr<Output>> outputs_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<nvinfer1::IRuntime> runtime_;
  std::unique_ptr<nvinfer1::ICudaEngine> engine_;
  std::unique_ptr<nvinfer1::IExecutionContext> context_;
  Logger& logger_;
};

// Sorted times of single inferences in ms: at least `iterations` of them, for at least `seconds`, after `warmup_ms`.
std::vector<double> time_inferences(Session& session, int iterations, double seconds, double warmup_ms);
double percentile(const std::vector<double>& sorted, double percent);

}  // namespace wootz_cli
