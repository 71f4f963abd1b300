// Runs a program's steps: the plan of some bindings' shapes, at their addresses, on a stream.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/plugin.h"
#include "runtime/aux_streams.h"
#include "runtime/bindings.h"
#include "runtime/dynamic_steps.h"
#include "runtime/recordings.h"
#include "runtime/run_memory.h"
#include "runtime/step_pointers.h"
#include "runtime/step_times.h"
#include "runtime/weight_stream.h"

namespace wootz {

// Called after each step when set: step number, microseconds.
using StepObserver = std::function<void(StepIndex step, double us)>;
// Called for each watched tensor, after the step that completes it, with its address on the device, where the work of
// that step is done; an error ends the run.
using TensorTap = std::function<Status(TensorIndex tensor, const void* data, const Dims& dims)>;

// Not thread-safe: one thread at a time. Different executors of one engine are independent.
class Executor {
 public:
  // `arena`: as RunMemory has it, for executors of one context of which one runs at a time.
  explicit Executor(std::shared_ptr<const EngineCore> engine, std::shared_ptr<GrowingBuffer> arena = nullptr);

  const EngineCore& engine() const { return *engine_; }

  // What kernels keep for this executor, made now rather than by its first run. `services`, which may be null, outlive
  // it. Errors: of a kernel, with its step's name.
  Status attach(const ContextServices* services);
  // To be called when the services have changed, and no run is at work. Errors: of a kernel, with its step's name.
  Status services_changed();

  // Own memory of at least this size from now on, so that no run within it allocates.
  Status reserve(size_t bytes);

  // Streams of the caller's for the program's auxiliary ones, in their order, where it has any; those that are missing
  // are our own. Used where a run is not replayed from a recording. They must outlive their use.
  void set_aux_streams(std::vector<Stream*> streams) { given_streams_ = std::move(streams); }

  // As RunMemory has it.
  void set_temporary(std::shared_ptr<Device> device) {
    bound_version_ = 0;
    memory_.set_temporary(std::move(device));
  }

  // Runs all steps on the calling thread and the process pool, after bindings.validate(). Bindings that did not change
  // cost no allocation and no lookup, except for data-dependent results that grow. `stream`: for a device with memory
  // of its own, where the work is put without waiting for it (null: its default queue). Shapes and addresses seen
  // before are replayed there from a recording, up to the first data-dependent step: that and the steps after it are
  // put there one by one, and the host waits for what it must know. A stream that is capturing takes the steps one by
  // one, of shapes that have run before.
  Status run(Bindings& bindings, Stream* stream = nullptr);

  // Of the last run: its plan (null: there was none), the extents of any tensor (nullopt while unknown: data-dependent
  // and not run yet) and where its elements are; those of the arena only until a later step takes the memory.
  const ShapePlan* plan() const { return plan_.get(); }
  std::optional<Dims> dims(TensorIndex tensor) const;
  const void* data(TensorIndex tensor) const { return memory_.address(tensor); }

  // Waits for each step, so that an error of the device is the error of the step that caused it.
  void set_wait_for_steps(bool wait) { wait_for_steps_ = wait; }
  void set_observer(StepObserver observer) { observer_ = std::move(observer); }
  // On a device with memory of its own, in place of an observer: marks around each step, of which nothing is waited for
  // before the times are read. Steps then run one after the other, in recordings too.
  void set_timed(bool timed);
  Status read_times(IndexedVector<StepIndex, float>* ms) const { return times_.read(ms); }
  // False: nothing is recorded, and what is recorded is not replayed.
  void set_replay(bool replay) { replay_ = replay; }
  // What tools see of an inference: nothing, its steps by name, or also their tactics.
  enum class Ranges { kNone, kNames, kTactics };
  void set_ranges(Ranges ranges);
  // How much of the device's cache may be set aside for activations.
  void set_persisting(size_t bytes);
  void set_tap(std::vector<TensorIndex> tensors, TensorTap tap);

 private:
  const Program& program() const { return engine_->program(); }
  KernelState* state(StepIndex step) const { return states_.empty() ? nullptr : states_[step].get(); }
  bool on_device() const { return !engine_->device().host_memory(); }
  bool watched() const { return observer_ || tap_ || wait_for_steps_; }
  Status persist(Stream& stream, bool on) const;
  Status put_steps(Stream* stream, std::span<Stream* const> aux, StepIndex first, StepIndex end);
  Result<Stream*> default_stream();
  Status bind(const Bindings& bindings);
  Status ask_sinks(const Bindings& bindings);
  Status check_capture() const;
  Status upload_shapes(const Bindings& bindings, bool changed, Stream* stream);
  Status replay(Stream* stream, size_t* done);

  Status run_steps(Stream* stream, std::span<Stream* const> aux, StepIndex first, StepIndex end);
  Status run_in_order(Stream* stream, StepIndex first, StepIndex end);
  Status run_streaming(Stream* stream, StepIndex first, StepIndex end);
  Status run_timed(Stream& stream, StepIndex first, StepIndex end);
  Status run_watched(Stream* stream, StepIndex first, StepIndex end);
  Status run_concurrently(Stream& stream, std::span<Stream* const> aux, StepIndex first, StepIndex end);
  Status run_step(StepIndex step, Stream* stream);
  const char* range_name(StepIndex step) const;
  Status show_tapped(StepIndex step);
  Status at_step(StepIndex step, const Status& status) const;

  std::shared_ptr<const EngineCore> engine_;
  const ContextServices* services_ = nullptr;
  IndexedVector<StepIndex, std::unique_ptr<KernelState>> states_;  // none before attach(), or where no kernel has one
  bool attached_ = false;
  std::shared_ptr<const ShapePlan> plan_;
  uint64_t generation_ = 0;     // of the engine, when something was bound last
  uint64_t bound_version_ = 0;  // of the bindings that memory and pointers are for
  RunMemory memory_;
  StepPointers pointers_;
  Recordings recordings_;
  std::unique_ptr<DynamicSteps> dynamic_;  // null: no plan so far has any
  std::unique_ptr<Stream> default_stream_;
  std::unique_ptr<WeightStream> weights_;  // null: they are all in memory
  AuxStreams aux_;
  std::vector<Stream*> given_streams_;

  // Of the run at hand.
  const Bindings* bindings_ = nullptr;
  const RangeHooks* ranges_ = nullptr;
  bool capturing_ = false;

  bool wait_for_steps_ = false, timed_ = false, replay_ = true;
  size_t persisting_ = 0;
  Ranges range_detail_ = Ranges::kNames;
  IndexedVector<StepIndex, std::string> range_names_;  // with tactics
  StepTimes times_;
  StepObserver observer_;
  TensorTap tap_;
  IndexedVector<StepIndex, std::vector<TensorIndex>> tapped_;  // that are complete after it
};

}  // namespace wootz
