// Layers that an application brings along, whichever of its interfaces they are written to. An `op` step of op `Plugin`
// names the plugin; a PluginSource makes objects of it: of those of the network while a plan is built, and by their
// creators when one is loaded. The provider of such steps (backends/plugin_steps.h) speaks to these classes alone.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/kernel.h"

namespace wootz {

// What a step says of its plugin: the text OpParams::node.
struct PluginParams {
  std::string name, version, space;  // of its creator; `space` is the namespace
  std::string layer;                 // of the network: no two layers share a plugin
  std::string timing;  // what tells it from others in the timing cache; empty: it is timed anew in each build
  std::string data;    // what its creator makes it of, in hexadecimal digits; none while the plan is built
  IntLists least;      // by operand, then by result: extents at the least of the profiles
  Ints aliases;        // by result: the operand whose memory it is, or -1. Empty: there are none
  IntLists bounds;     // by size that is found by running: the result with it, then what it may be at most
  IntLists extents;    // by axis of results with extents that are found by running: result, axis, then the expression
};
bool is_plugin(const Problem& problem);
void write_plugin(const PluginParams& params, Problem* problem);
// Errors: another step, or a text that is not as write_plugin() makes it: it may come from anywhere.
Result<PluginParams> read_plugin(const Problem& problem);

// An operand or result as it is described to a plugin. An absent operand has no type.
struct PluginTensor {
  DType dtype = DType::kInvalid;
  Layout layout = Layout::kLinear;
  Dims dims;              // the run's, or the most that is possible where running finds it; -1: over the profiles, open
  Dims least, opt, most;  // of the profiles; empty where one run is described
};

struct PluginTensors {
  std::vector<PluginTensor> inputs, outputs;
};

// What an application lends the plugins of one executor; the layer that speaks to applications knows what it is.
class ContextServices {
 public:
  virtual ~ContextServices() = default;
  // Of the device's communication library (an ncclComm_t), for steps that span devices; null: none.
  void* communicator = nullptr;
};

// What each execution context has of a plugin: an object of its own. One thread at a time.
class PluginContext {
 public:
  virtual ~PluginContext() = default;
  // The extents of the coming runs.
  virtual Status prepare(const PluginTensors& tensors) = 0;
  // Puts the work on the stream, which is null where the host does it.
  virtual Status run(const PluginTensors& tensors, const void* const* inputs, void* const* outputs, void* workspace,
                     Stream* stream) = 0;
};

// A plugin that is configured. Its contexts may be made by several threads.
class PluginObject {
 public:
  virtual ~PluginObject() = default;
  virtual Result<std::unique_ptr<PluginContext>> attach(const ContextServices* services) = 0;
  // Scratch memory in bytes at these extents.
  virtual Result<size_t> workspace(const PluginTensors& tensors) = 0;
  // All that its creator needs to make it again.
  virtual Result<std::string> serialize() = 0;
};

// A way for it to run, of which the tuner chooses one.
struct PluginForm {
  std::vector<Layout> inputs, outputs;
  std::vector<int32_t> tactics;  // the plugin's own numbers, at least one
  size_t workspace = 0;
};

class PluginSource {
 public:
  virtual ~PluginSource() = default;
  // How the step's plugin can run. Only while building.
  virtual Result<std::vector<PluginForm>> forms(const Problem& problem, const PluginParams& params) const = 0;
  // An object for the step. `workspace`: what the form says, or the plan.
  virtual Result<std::shared_ptr<PluginObject>> make(const Problem& problem, const PluginParams& params, int32_t tactic,
                                                     size_t workspace) const = 0;
};

// What a kernel keeps for one executor, which runs one call at a time.
class KernelState {
 public:
  virtual ~KernelState() = default;
  // The services that it was made with are others now; nothing runs meanwhile.
  virtual Status services_changed() { return Status(); }
};

// A kernel with such a state, which its calls are run with.
class StatefulKernel : public Kernel {
 public:
  // Made once for each executor. `services` may be null, and outlives the state.
  virtual Result<std::unique_ptr<KernelState>> attach(const ContextServices* services) const = 0;
};
// A call of such a kernel. Recording it may fail although it would run, which nothing but the attempt tells.
class StatefulCall : public Call {
 public:
  virtual Status run_with(const RunArgs& args, KernelState* state) const = 0;
  Status run(const RunArgs&) const override { return internal_error("a plugin that was not attached"); }
};

// The kernel's state; null: it has none.
Result<std::unique_ptr<KernelState>> attach_kernel(const Kernel& kernel, const ContextServices* services);
// `state`: what the call's kernel gave.
inline Status run_call(const Call& call, const RunArgs& args, KernelState* state) {
  return state == nullptr ? call.run(args) : static_cast<const StatefulCall&>(call).run_with(args, state);
}

// The step's operands and results as its problem describes them, over the profiles: extents that are not the same in
// all of them are -1.
PluginTensors plugin_tensors(const Problem& problem, const PluginParams& params);
// "layer 'name': plugin 'Name' version '1' (namespace '')".
std::string plugin_place(const PluginParams& params);

// PluginParams::data.
std::string to_hex(std::string_view bytes);
Result<std::string> from_hex(std::string_view digits);

// Extents that a plugin finds by running, as PluginParams::extents and bounds say them: postfix, two numbers a word.
enum class ExtentWord : int64_t {
  kConst,     // the value
  kExtent,    // of operand value / limits::kMaxRank, axis value % limits::kMaxRank
  kSize,      // what result `value` holds
  kOperator,  // ShapeOp of 2 values
};
// Errors: words that make no sense, overflow, division by zero. `sizes`: by result; -1: not known.
Result<int64_t> evaluate_extent(std::span<const int64_t> words, std::span<const Dims> inputs,
                                std::span<const int64_t> sizes);

}  // namespace wootz
