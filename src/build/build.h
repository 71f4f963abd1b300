// The build as a plain function: graph in, program and report out. IBuilder, and through it the command line and
// Python, stand on this.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/report/record.h"
#include "backend/device.h"
#include "backend/program.h"
#include "ir/graph.h"
#include "wootz/allocator.h"

namespace wootz::api {

struct DimsRange {
  Dims min, opt, max;
};
struct ValuesRange {
  std::vector<int64_t> min, opt, max;
};
// Ranges by input name. Inputs without open extents need no entry.
struct BuildProfile {
  std::map<std::string, DimsRange, std::less<>> dims;
  std::map<std::string, ValuesRange, std::less<>> values;  // of inputs whose values decide shapes
};

// Told how far the build is. Any of the three may be empty; `step` returning false cancels.
struct BuildProgress {
  std::function<void(const char* phase, const char* parent, int steps)> start;
  std::function<bool(const char* phase, int step)> step;
  std::function<void(const char* phase)> finish;
};

// Steps whose name contains `step` may only use tactics whose text contains `tactic`.
struct ForcedTactic {
  std::string step, tactic;
};

struct BuildOptions {
  std::string backend = "cpu";
  std::string backend_reason;                    // for the log
  std::optional<DeviceDescription> device;       // to build for; empty: this machine's
  nvinfer1::IGpuAllocator* allocator = nullptr;  // of the device's memory while building; null: the device
  std::vector<BuildProfile> profiles;
  int threads = 0;  // of one inference; 0: all of the pool
  size_t workspace = SIZE_MAX;
  std::string isa_cap;
  bool allow_unordered = false;
  bool tf32 = true;                 // FP32 products may round their operands, where the backend has it
  bool fp16 = false, bf16 = false;  // FP32 values of the network may be kept in 16 bits, where that is faster
  bool host_steps = false;          // a device may leave steps that it has no kernel for to the host
  std::set<std::string, std::less<>> disabled_passes;
  bool verify_passes = false;
  std::vector<ForcedTactic> forced;
  // Choosing: by measuring (from the cache, or here), or by the providers' estimates.
  bool measure = true;
  int level = 3;                 // 0: estimates; up to 5: longer and closer measuring
  int timing_iterations = 1;     // least batches behind a time
  int max_tactics = -1;          // most tactics measured for a step
  int aux_streams = -1;          // most that an inference may use beside the caller's; -1: as many as gain something
  TimingCache* cache = nullptr;  // consulted and filled
  bool error_on_cache_miss = false;
  // Machine code kept in the plan. Empty: what is reproducible when the device is elsewhere, otherwise none.
  std::optional<KeepNative> native;
  std::set<std::string, std::less<>> debug_tensors;            // values to keep observable, by name
  std::map<std::string, std::string, std::less<>> properties;  // for Program::properties
  std::vector<AbsentNode> absent;                              // of the model, for reports
  bool keep_record = false;  // stored_record() goes into the plan, and memory is looked at
  bool keep_values = true;   // where the model's values are goes into the plan, for debug taps
  BuildProgress progress;
  // One line each: what was fused, and every detail.
  std::function<void(const std::string&)> info, verbose;
  std::function<void(const std::string&)> warning;
};

struct BuildOutput {
  std::shared_ptr<Program> program;
  BuildReport report;
};

// Rewrites the graph. Errors name the layer, input or profile. Code::kCancelled when `progress.step` said so.
Result<BuildOutput> build_program(Graph& graph, const BuildOptions& options);

// Infers types; inputs with values in every profile get them tracked as symbols where shapes depend on them.
Status infer_with_profiles(Graph& graph, const std::vector<BuildProfile>& profiles);

// Ranges of the graph's symbols for each profile. At least one profile comes back. Errors: an input with open extents
// that a profile leaves out or contradicts, inputs that share a dimension but no extent.
Result<std::vector<std::vector<SymbolRange>>> symbol_ranges(const Graph& graph,
                                                            const std::vector<BuildProfile>& profiles);

}  // namespace wootz::api
