// The loaded engine: program, weights and prepared kernels. Immutable after creation; shared by any number of contexts.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>
#include <vector>

#include "backend/device.h"
#include "backend/kernel.h"
#include "backend/program_update.h"
#include "base/temporary_file.h"
#include "runtime/shape_plan.h"
#include "runtime/weight_residency.h"

namespace wootz {

struct EngineOptions {
  int threads = 0;                 // per inference; 0: all of the process pool
  size_t cached_shapes = 64;       // resolved shapes kept, least recently used go first
  bool stream_weights = false;     // of a plan that allows it: a budget may be set, and place_weights() is called
  TemporaryFiles temporary_files;  // of weights that are streamed
};

// Immutable but for the weights of a refittable plan, which update() replaces between inferences.
class EngineCore {
 public:
  // What create_engine() makes it of: kernels of the steps, and the engines of the program's bodies.
  struct Parts {
    std::shared_ptr<const Program> program;
    std::shared_ptr<Device> device;
    StepKernels kernels;
    std::vector<std::shared_ptr<EngineCore>> bodies;
    bool of_refittable = false;  // a body of a program whose weights can be replaced
    // The whole program's, of a body that runs a profile of it: what is in one place of the plan is so on the device.
    const EngineCore* whole = nullptr;
  };
  // Errors: no memory for the weights.
  static Result<std::shared_ptr<EngineCore>> create(Parts parts, const EngineOptions& options);

  // The same with steps on other streams (Step::stream): weights and kernels are shared.
  static std::shared_ptr<EngineCore> with_streams(const std::shared_ptr<const EngineCore>& engine,
                                                  const StepStreams& streams);

  const Program& program() const { return *program_; }
  Device& device() const { return *device_; }
  const std::shared_ptr<Device>& device_ptr() const { return device_; }
  const EngineOptions& options() const { return options_; }
  const Kernel& kernel(StepIndex step) const { return *kernels_[step]; }
  // Where the device finds a constant: in the plan's own bytes, or in the copy made of them at creation.
  const void* constant_address(ConstantIndex constant) const {
    return constants_.empty() ? program_->constants[constant].data : constants_[constant];
  }

  // Weight streaming (runtime/weight_residency.h), of an engine with the option. At first all weights stay in memory.
  // The weights that do not are brought in by who runs the steps (runtime/weight_stream.h).
  const WeightResidency& residency() const { return residency_; }
  bool streams_weights() const { return !residency_.streamed.empty(); }
  // Bytes of streamable weights that may stay in memory from now on. No context exists. Errors: the weights are in no
  // file that they could come back from.
  Status set_weight_budget(size_t budget);
  // Takes the memory for weights that stay. Before the first context; errors leave none taken.
  Status place_weights();
  // Where a streamed weight comes from.
  std::span<const std::byte> streamed_bytes(size_t number) const;

  // The resolved form of one binding of symbols (as PlanSymbol order, -1: data-dependent), from the cache or made now.
  // Thread-safe. Not for the hot path when it has to be made.
  Result<std::shared_ptr<const ShapePlan>> shape_plan(const std::vector<int64_t>& symbols) const;

  // Arena and workspace bytes at a profile's maximum.
  Result<size_t> memory_for_profile(size_t profile) const;
  // What that memory is made of, at a profile's maximum or at given symbols.
  Result<MemoryReport> memory_report(size_t profile) const { return report_memory(*program_, profile, kernels_); }
  Result<MemoryReport> memory_report(const std::vector<int64_t>& symbols) const {
    return report_memory(*program_, symbols, kernels_);
  }

  const std::vector<std::shared_ptr<EngineCore>>& bodies() const { return bodies_; }
  // Gives it a body that runs a profile: made after the whole, and owned by it.
  void set_body(size_t number, std::shared_ptr<EngineCore> body) { bodies_[number] = std::move(body); }

  // Kernels of steps that must be bound anew, and those of the bodies.
  struct NewKernels {
    std::vector<std::pair<StepIndex, std::shared_ptr<const Kernel>>> steps;
    std::vector<NewKernels> bodies;
  };
  // Replaces weights, once no inference is at work on the host. On a device, constants keep their addresses, so that
  // what is recorded stays right; the copies are made in the order of `stream`, or at once where it is null (the caller
  // has waited for the device then). Errors: of the device.
  Status update(ProgramUpdate update, NewKernels kernels, Stream* stream);
  // Held while an inference looks at weights and kernels; nothing for an engine that is not refittable.
  class Reading {
   public:
    explicit Reading(const EngineCore& engine);
    ~Reading();
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

   private:
    std::shared_mutex* mutex_ = nullptr;
  };
  // Grows with each update after which shapes must be resolved again.
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

  ~EngineCore();

 private:
  EngineCore() = default;
  IndexedVector<ConstantIndex, const void*> lent_constants() const;
  Status upload_constants();
  Status fill_host_copies();
  void drop_weights();
  Status update_constant(ConstantIndex number, const PlanConstant& constant, Stream* stream);
  Status keep_in_file(ProgramUpdate* update) const;
  Status replace(ProgramUpdate update, NewKernels kernels, Stream* stream);
  std::shared_ptr<const Program> program_;
  std::shared_ptr<Device> device_;
  EngineOptions options_;
  StepKernels kernels_;
  void* constant_memory_ = nullptr;                      // one block on the device, when its memory is not the host's
  IndexedVector<ConstantIndex, const void*> constants_;  // null: of a streamed one
  WeightResidency residency_;
  std::byte* host_copies_ = nullptr;  // of streamed weights, in memory that the device copies from without a detour
  std::vector<size_t> host_offsets_;  // by streamed weight
  bool placed_ = false;
  std::shared_ptr<const EngineCore> lender_;  // whose weights these are; null: our own

  std::vector<std::shared_ptr<EngineCore>> bodies_;
  const EngineCore* whole_ = nullptr;     // of a body that runs a profile
  bool refittable_ = false;               // bodies of control steps are not: a run of their network holds its weights
  std::shared_ptr<Program> own_program_;  // of a refittable plan, and of its bodies: what program_ is
  mutable std::mutex update_turn_;        // held by an update that waits, so that inferences let it through
  mutable std::shared_mutex weights_mutex_;
  std::atomic<uint64_t> generation_{0};

  mutable std::mutex mutex_;                                   // also of what update() replaces
  mutable std::list<std::shared_ptr<const ShapePlan>> cache_;  // most recently used first
};

}  // namespace wootz
