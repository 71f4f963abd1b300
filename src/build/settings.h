// What a build goes by, and what it talks to.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/native_code.h"
#include "backends/allocator_device.h"
#include "base/log.h"
#include "base/progress.h"
#include "build/profiles.h"
#include "ir/node_order.h"
#include "passes/precision/layer_types.h"
#include "quant/range.h"
#include "tuner/cache/timing_cache.h"
#include "tuner/layout/border.h"

namespace wootz {

class PluginSource;       // backend/plugin.h
class TacticSelector;     // build/tactic_selector.h
class CalibrationSource;  // quant/calibration_source.h

// Steps whose name contains `step` may only use tactics whose text contains `tactic`.
struct ForcedTactic {
  std::string step, tactic;
};

// A constant of the graph as refitters know it.
struct NamedWeight {
  std::string value;  // its name among named_constants() (build/refit/constants.h)
  std::string name;   // empty: by layer and role alone
  std::string layer;  // empty: by name alone
  uint8_t role = 255;
  bool fixed = false;  // never to be replaced: lists of extents, axes, indices
};

// That the plan's weights are to be replaceable.
struct RefitRequest {
  std::vector<NamedWeight> weights;
  std::optional<std::set<std::string, std::less<>>> marked;  // the names that may be; empty: all
  bool identical = false;                                    // by the values that they have and no others
};

// What a build goes by: plain data.
struct BuildSettings {
  std::string backend = "cpu";
  std::string backend_reason;               // for the log
  std::optional<DeviceDescription> device;  // to build for; empty: this machine's
  int device_number = kCurrentDevice;       // which of this machine's
  std::vector<BuildProfile> profiles;
  bool one_program = false;  // kernels are tuned for the first profile and serve all of them
  int threads = 0;           // of one inference; 0: all of the pool
  size_t workspace = SIZE_MAX;
  size_t operand_memory = SIZE_MAX;  // that operands, results and workspace of one tactic may take
  size_t shared_memory = SIZE_MAX;   // of a device's processor, that a block of a kernel may take
  std::string isa_cap;
  bool allow_unordered = false;
  bool tf32 = true;                 // FP32 products may round their operands, where the backend has it
  bool fp16 = false, bf16 = false;  // FP32 values of the network may be kept in 16 bits, where that is faster
  bool int8 = false;                // convolutions and products may compute in 8 bits, by scales
  bool sparse_weights = false;      // kernels may leave out the zeros of weights that have them 2:4
  TensorScales scales;              // of single tensors, which the application says; they win over a calibration's
  std::optional<BuildProfile> calibration_profile;  // empty: the first of `profiles`
  int calibration_version = 0;                      // that caches name
  std::optional<RangeMethod> calibration;           // in place of the calibrator's own
  std::vector<BorderWish> border;      // layouts of inputs and outputs; those that are not named are row-major
  std::vector<AskedType> layer_types;  // that single layers are to compute in
  bool obey_layer_types = false;       // one that cannot be had ends the build; otherwise it is warned of
  bool host_steps = false;             // a device may leave steps that it has no kernel for to the host
  std::set<std::string, std::less<>> disabled_passes;
  bool verify_passes = false;
  std::vector<ForcedTactic> forced;
  std::set<std::string, std::less<>> left_out;  // providers that offer nothing, by name
  bool jit_convolutions = true;  // false: kernels of convolutions that are compiled here only where no other is
  // Choosing: by measuring (from the cache, or here), or by the providers' estimates.
  bool measure = true;
  int level = 3;              // 0: estimates; up to 5: longer and closer measuring
  int timing_iterations = 1;  // least batches of a time
  int max_tactics = -1;       // most tactics measured for a step
  int aux_streams = -1;       // most that an inference may use beside the caller's; -1: as many as gain something
  bool error_on_cache_miss = false;
  bool obey_pins = false;  // of the timing cache: an edited entry decides
  bool wait_each = false;  // for every kernel that is timed, so that a fault is reported of the one that has it
  bool independent_places = false;  // sums of products must not depend on where a result stands along outer axes
  bool tell_memory = false;         // in the log, after each stage
  bool keep_compiled = true;        // what is compiled may be kept on disk for other builds
  void* timing_stream = nullptr;    // the application's; null: one of the build's own
  bool portable = false;            // the plan is for other processors too (runtime/adapt.h)
  bool every_generation = false;    // of a device: only kernels that are made of source where the plan is loaded
  // Machine code kept in the plan. Empty: what is reproducible when the device is elsewhere, otherwise none.
  std::optional<KeepNative> native;
  std::set<std::string, std::less<>> debug_tensors;            // values to keep observable, by name
  std::map<std::string, std::string, std::less<>> properties;  // for Program::properties
  std::vector<AbsentNode> absent;                              // of the model, for reports
  bool keep_record = false;  // stored_record() goes into the plan, and memory is looked at
  bool keep_values = true;   // where the model's values are goes into the plan, for debug taps
  std::optional<RefitRequest> refit;
  std::string dump_stages;  // folder for the graph and the program after each stage (stage_dump.h); empty: none
};

// Why one program with one set of tactics is to run the shapes of all profiles; null: each profile has its own.
const char* why_one_program(const BuildSettings& settings);

// What a build talks to and draws on. All of it may be left out.
struct BuildServices {
  const Log* log = &silent_log();
  Progress* progress = nullptr;
  TimingCache* cache = nullptr;  // consulted and filled
  TacticSelector* selector = nullptr;
  CalibrationSource* calibration = nullptr;     // asked where INT8 is allowed and the network has no Quantize
  std::shared_ptr<Allocator> allocator;         // of the device's memory while building; null: the device
  std::shared_ptr<const PluginSource> plugins;  // of the network; null: it has none
};

}  // namespace wootz
