// Plans of cuDNN's: configurations that compute a graph, built and run.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/kernel.h"
#include "backends/cuda/cudnn/graph.h"

namespace wootz::cuda {

class CudnnPlan {
 public:
  virtual ~CudnnPlan() = default;
  virtual size_t workspace() const = 0;
  virtual Status run(const RunArgs& args) const = 0;
};

// "91900", or why cuDNN cannot be used.
Result<std::string> cudnn_version();

// How many configurations are asked for, and how many of these may be compiled when their plans are built.
struct CudnnMost {
  size_t all, compiled;
};
// Configurations that compute the graph, best first by the library's heuristics: engine and knobs as text
// ("12:3=1,7=0"). Thread-safe, as the others are: within run_tasks() several are tried at once.
Result<std::vector<std::string>> cudnn_choices(const CudnnGraph& graph, const CudnnTarget& target, CudnnMost most);

// A plan for a GPU: as it was built before, where that was kept. `choice` empty, or no longer taken by the
// library: its own first choice. Equal plans are built once. May take seconds: some engines compile.
Result<std::shared_ptr<const CudnnPlan>> cudnn_plan(const Gpu& gpu, const CudnnGraph& graph, const std::string& choice);

// While the caller has this, plans of a GPU's stay once they are built, offered or not: to be timed, and run.
std::shared_ptr<const void> hold_cudnn_plans(const Gpu& gpu);

// The same for a described device, built and serialized, not loaded. No two builds give the same bytes: the library
// leaves addresses of the process in them.
Result<NativeCode> cudnn_code(const CudnnGraph& graph, const std::string& choice, const DeviceDescription& device);

}  // namespace wootz::cuda
