// An engine that runs batches, and shows the values of the model that it holds in tensors. It goes through the public
// interfaces, so that layouts, devices and sizes that only a run finds out are as applications meet them.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/runtime/engine.h"
#include "api/tools/batches.h"

namespace wootz::api {

// Takes a value, in the order of execution; an error ends the run.
using TakeValue = std::function<Status(const std::string& name, HostTensor value)>;

class EngineRun {
 public:
  // Errors: it is no engine of this library, its context cannot be made.
  static Result<std::unique_ptr<EngineRun>> create(nvinfer1::ICudaEngine* engine);
  ~EngineRun();

  // Names of the values that can be shown: outputs, and what the plan tells of the inside.
  const std::set<std::string>& values() const { return values_; }
  // "" where it is no step's.
  std::string layer_of(const std::string& value) const;
  bool is_output(const std::string& value) const { return outputs_.count(value) != 0; }
  // `on`: or no more.
  Status show(const std::set<std::string>& values, bool on = true);
  // Errors name what of the batch the engine does not take.
  Status run(const Batch& batch, const TakeValue& take);

 private:
  class Listener;
  class Output;
  explicit EngineRun(EngineImpl& engine);
  Status prepare();
  Status set_input(const std::string& name, const HostTensor& array);

  EngineImpl& engine_;
  std::set<std::string> values_, inputs_, outputs_;
  std::map<std::string, std::vector<char>> memory_;  // of the host's inputs
  std::map<std::string, void*> device_memory_;       // of inputs
  std::map<std::string, std::unique_ptr<Output>> sinks_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<nvinfer1::IExecutionContext> context_;
};

}  // namespace wootz::api
