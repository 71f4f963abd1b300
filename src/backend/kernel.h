// The contract between the system and the backends: Provider offers tactics, a Tactic creates a Kernel, a Kernel is
// bound to concrete extents (Call), a Call runs. With Device (device.h) these are all the virtual functions of a
// backend.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/native_code.h"
#include "backend/packed_form.h"
#include "backend/problem.h"
#include "base/status.h"
#include "base/tensor.h"

namespace wootz {

class Device;              // device.h
class Stream;              // device.h
struct DeviceDescription;  // device.h

// Names one way to compute a problem. Plain data: timing cache and plan store it, and it creates the same kernel again.
struct Tactic {
  std::string provider;  // "native", "onednn", "reference", ...
  std::string kernel;    // "<family>_<types>_<variant>_<isa>"
  std::string config;    // private to the kernel, may be empty
  bool operator==(const Tactic&) const = default;
  std::string to_string() const {
    return config.empty() ? provider + ":" + kernel : provider + ":" + kernel + "?" + config;
  }
};

// One offer for a problem: the tactic and the layouts it wants for the data operands (constants excepted).
struct Candidate {
  Tactic tactic;
  std::vector<Layout> input_layouts, output_layouts;  // one per input / output of the problem
  size_t workspace = 0;                               // at the maximum extents
  double estimate_us = 0;                             // rough cost for choosing without timing; 0: unknown
  bool ranked = false;  // one of several proposals for this kernel and these layouts, which come best first
};
inline bool same_layouts(const Candidate& a, const Candidate& b) {
  return a.input_layouts == b.input_layouts && a.output_layouts == b.output_layouts;
}

struct Refusal {
  std::string kernel;
  std::string reason;  // why not
};

// What the builder allows.
struct Limits {
  size_t workspace = SIZE_MAX;
  int threads = 1;
  std::string isa_cap;           // "", "avx2", "avx512", "amx": kernels above it are refused
  bool allow_unordered = false;  // reductions whose order varies from run to run
  bool tf32 = false;             // FP32 products may round their operands to TF32
  bool host_steps = false;  // a device without a kernel for a step may have the host compute it, with copies both ways
  const DeviceDescription* device = nullptr;  // built for; null: the one at hand
  // The device at hand, on which kernels are bound and run. Null: it is elsewhere, and nothing can be bound.
  std::shared_ptr<Device> at;
  std::vector<std::string> left_out;  // providers that are not asked, by name
};

// Data-dependent results: the kernel says how large, the executor answers where.
class OutputAllocator {
 public:
  virtual ~OutputAllocator() = default;
  virtual void* allocate(int output, const Dims& dims) = 0;  // null: refused
};

struct RunArgs {
  const void* const* inputs;  // device addresses; constants in the form pack() gave them; null: omitted
  void* const* outputs;
  void* workspace;
  OutputAllocator* allocator;  // only for calls whose outputs_known() is false
  Stream* stream;
};

// A kernel at concrete extents. Immutable: many streams may run one Call at a time, each with its own workspace.
class Call {
 public:
  virtual ~Call() = default;
  virtual size_t workspace() const { return 0; }
  virtual bool outputs_known() const { return true; }
  // False: run() waits for the device or does work on the host, and cannot be part of a Recording.
  virtual bool recordable() const { return true; }
  // No allocation, no lock. Inputs and outputs must not overlap unless the kernel said so in in_place().
  virtual Status run(const RunArgs& args) const = 0;
};

struct BindArgs {
  std::span<const Dims> inputs;   // concrete extents, in operand order
  std::span<const Dims> outputs;  // empty extents where unknown
  // Packed constants by input; null where the operand is not constant. They begin at multiples of 64 bytes, for speed.
  std::span<const void* const> constants;
  std::span<const size_t> constant_bytes = {};  // their sizes; given whenever they come from a plan
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  // The form in which the kernel wants constant input i; nullopt: as it is (row-major). It does not read the source
  // before its bytes are made: who loads a plan asks for the form alone, with a source of no bytes.
  virtual Result<std::optional<PackedForm>> pack(int input, const HostTensor& source) const {
    (void)input, (void)source;
    return std::optional<PackedForm>{};
  }
  // The same where the form of one constant follows from others too. `sources`: by input, not valid where it is none.
  virtual Result<std::optional<PackedForm>> pack_among(int input, std::span<const HostTensor> sources) const {
    return pack(input, sources[static_cast<size_t>(input)]);
  }
  // May be slow (code generation); never on the hot path. The executor caches calls by extents.
  virtual Result<std::unique_ptr<Call>> bind(const BindArgs& args) const = 0;
  // Adds the machine code that bind() at these extents needs on the device described, made without it: for the plan.
  virtual Status native_code(const BindArgs& args, const DeviceDescription& device, KeepNative keep,
                             std::vector<NativeCode>* code) const {
    (void)args, (void)device, (void)keep, (void)code;
    return Status();
  }
  // Input that output `o` may overwrite in place, or -1.
  virtual int in_place(int output) const {
    (void)output;
    return -1;
  }
};

class Provider {
 public:
  virtual ~Provider() = default;
  virtual const char* name() const = 0;
  virtual std::string version() const = 0;  // part of the timing cache's key and of packed weights' identity
  // Offers for the problem (layouts of its data operands are free) and the reasons of those that do not apply.
  virtual void tactics(const Problem& problem, const Limits& limits, std::vector<Candidate>* offers,
                       std::vector<Refusal>* refusals) const = 0;
  // `problem` has the candidate's layouts filled in. Fails (never crashes) on a tactic or problem it does not know:
  // both may come from a plan file.
  virtual Result<std::unique_ptr<Kernel>> create(const Tactic& tactic, const Problem& problem,
                                                 const Limits& limits) const = 0;
};

}  // namespace wootz
