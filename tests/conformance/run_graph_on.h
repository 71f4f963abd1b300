// Lowers a graph for a backend, chooses tactics by estimate and runs it: the whole chain below the API.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "backend/indices.h"
#include "ir/graph.h"

namespace wootz::conformance {

struct RunOptions {
  std::string backend = "cpu";
  bool passes = true;
  std::string isa_cap;
  int threads = 2;
  std::function<uint8_t(StepIndex step)> stream;  // of each step, where the device has several; empty: one
  std::set<std::string> without;                  // of the passes
};

struct RunResult {
  std::vector<HostTensor> outputs;
  size_t steps = 0;
  std::vector<std::string> reference_steps;  // those that the reference computed: op and types, "MatMul f64 f64"
  size_t body_steps = 0,
         body_reference_steps = 0;  // of bodies of control steps, and what the reference computed of them
  size_t byte_steps = 0;            // products, convolutions and averages that read bytes
};

// Everything up to the run itself: memory, bound kernels, inputs in place.
class PreparedRun {
 public:
  struct State;
  explicit PreparedRun(std::unique_ptr<State> state);
  PreparedRun(PreparedRun&&) noexcept;
  ~PreparedRun();
  Result<RunResult> run();
  // With other values in inputs of the same shapes.
  Status feed(const std::vector<HostTensor>& inputs);

 private:
  std::unique_ptr<State> state_;
};

// The GPU, or what stands in for it where there is none: true. Errors: neither.
Result<bool> open_cuda();

// How far products of floats of 8 bits may be from the reference: tensor cores keep their sums in about 14 bits, and a
// build takes such a kernel only where the result's type, or TF32, explains the difference.
constexpr double kOfFloat8 = 0x1p-12;

// `graph` is inferred; it is rewritten when options.passes. Steps without a kernel may be left to the host.
Result<PreparedRun> prepare_graph_on(Graph& graph, const std::vector<HostTensor>& inputs, const RunOptions& options);
Result<RunResult> run_graph_on(Graph& graph, const std::vector<HostTensor>& inputs, const RunOptions& options);

}  // namespace wootz::conformance
