// The engines that compute a graph, with their knobs: as cuDNN proposes them, as text, and as plans.
#pragma once

#include "backends/cuda/cudnn/operations.h"

namespace wootz::cuda {

// The configurations that cuDNN's heuristics propose, best first, without those whose results differ from run to run or
// are less exact than asked for.
Result<std::vector<CudnnDescriptor>> propose_engines(const CudnnOperations& operations, const CudnnGraph& graph);

// Whether its engine compiles a kernel when a plan is built, which takes a processor up to some seconds.
Result<bool> compiles(const CudnnDescriptor& config, const CudnnLibrary& library);

// A configuration as text, "12:3=1,7=0,": engine, knobs and their values. The same engine has the same text in every
// version of ours.
Result<std::string> engine_text(const CudnnDescriptor& config, const CudnnLibrary& library);
Result<CudnnDescriptor> engine_from_text(const std::string& text, const CudnnOperations& operations);

// Built; may take seconds. With it the scratch memory that it wants.
struct CudnnBuilt {
  CudnnDescriptor plan;
  size_t workspace = 0;
};
Result<CudnnBuilt> build_engine(const CudnnDescriptor& config, const CudnnLibrary& library);

// A built plan as bytes, and back, for the device at hand.
Result<std::vector<char>> save_plan(const CudnnBuilt& built);
Result<CudnnBuilt> load_plan(const std::vector<char>& bytes, const CudnnLibrary& library);

}  // namespace wootz::cuda
