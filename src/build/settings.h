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
#include "tuner/cache/timing_cache.h"

namespace wootz {

// Steps whose name contains `step` may only use tactics whose text contains `tactic`.
struct ForcedTactic {
  std::string step, tactic;
};

// A constant of the graph, by its value's name, as refitters know it.
struct NamedWeight {
  std::string value;
  std::string name;   // empty: by layer and role alone
  std::string layer;  // empty: by name alone
  uint8_t role = 255;
  bool fixed = false;  // never to be replaced: lists of extents, axes, indices
};

// That the plan's weights are to be replaceable.
struct RefitRequest {
  std::vector<NamedWeight> weights;
  std::optional<std::set<std::string, std::less<>>> marked;  // the names that may be; empty: all
};

// What a build goes by: plain data.
struct BuildSettings {
  std::string backend = "cpu";
  std::string backend_reason;               // for the log
  std::optional<DeviceDescription> device;  // to build for; empty: this machine's
  int device_number = kCurrentDevice;       // which of this machine's
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
  int level = 3;              // 0: estimates; up to 5: longer and closer measuring
  int timing_iterations = 1;  // least batches of a time
  int max_tactics = -1;       // most tactics measured for a step
  int aux_streams = -1;       // most that an inference may use beside the caller's; -1: as many as gain something
  bool error_on_cache_miss = false;
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

// What a build talks to and draws on. All of it may be left out.
struct BuildServices {
  const Log* log = &silent_log();
  Progress* progress = nullptr;
  TimingCache* cache = nullptr;          // consulted and filled
  std::shared_ptr<Allocator> allocator;  // of the device's memory while building; null: the device
};

}  // namespace wootz
