// One execution context: shapes, addresses, memory, and the loop over the steps.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/aux_streams.h"
#include "runtime/engine_core.h"

namespace wootz {

// Where data-dependent outputs go. Called from the run, once per such output.
class OutputSink {
 public:
  virtual ~OutputSink() = default;
  virtual void* reallocate(int output, size_t bytes, const Dims& dims) = 0;  // null: refused
};

// Called after each step when set: step number, microseconds.
using StepObserver = std::function<void(size_t step, double us)>;
// Called for each watched tensor, after the step that completes it, with its address on the device, where the work of
// that step is done; an error ends the run.
using TensorTap = std::function<Status(int32_t tensor, const void* data, const Dims& dims)>;

// Not thread-safe: one thread at a time. Different executors of one engine are independent.
class Executor {
 public:
  explicit Executor(std::shared_ptr<const EngineCore> engine);
  ~Executor();

  const EngineCore& engine() const { return *engine_; }
  Status set_profile(size_t profile);
  size_t profile() const { return profile_; }

  // Inputs and outputs by number, as in Program::inputs / outputs.
  Status set_input_dims(size_t input, const Dims& dims);
  const Dims& input_dims(size_t input) const { return input_dims_[input]; }
  bool input_dims_known(size_t input) const { return input_known_[input] != 0; }
  void set_input_address(size_t input, const void* address);
  void set_output_address(size_t output, void* address);
  const void* input_address(size_t input) const { return input_address_[input]; }
  void* output_address(size_t output) const { return output_address_[output]; }
  void set_output_sink(size_t output, OutputSink* sink) { sinks_[output] = sink; }
  // Memory for activations that the caller owns, of at least the engine's memory for the profile; null: our own.
  void set_arena(void* memory, size_t bytes);

  // Own memory of at least this size from now on, so that no run within it allocates.
  Status reserve(size_t bytes);

  // Streams of the caller's for the program's auxiliary ones, in their order, where it has any; those that are missing
  // are our own. Used where a run is not replayed from a recording. They must outlive their use.
  void set_aux_streams(std::vector<Stream*> streams) { given_streams_ = std::move(streams); }

  // What is resolved next is for a stream that is capturing: shapes that have not been are refused.
  void set_capturing(bool capturing) { capturing_ = capturing; }

  // Works out what the shapes set so far decide; memory and addresses are left alone. Errors: as for resolve().
  Status resolve_shapes();
  // What resolve_shapes() found; null before.
  const ShapePlan* shape_plan() const { return plan_.get(); }
  // Makes everything ready for the shapes set so far. Called by run() when something changed; call it before to keep
  // the first run of a shape fast. Errors: input not set, extents outside the profile, inputs that disagree.
  Status resolve();
  // Extents of any tensor after resolve(); nullopt while unknown (data-dependent and not run yet).
  std::optional<Dims> dims(int32_t tensor) const;
  // Where a tensor's elements are after resolve(); those of the arena only until a later step takes the memory.
  const void* data(int32_t tensor) const { return address_of(tensor); }

  // Runs all steps on the calling thread and the process pool. No allocation for a shape that has run before, except
  // for data-dependent results that grow. `stream`: for a device with memory of its own, where the work is put without
  // waiting for it (null: its default queue). Shapes and addresses seen before are replayed there from a recording, up
  // to the first step whose extents only running tells: that and the steps behind it are put there one by one, and the
  // host waits for what it must know. A stream that is capturing takes the steps one by one, of shapes that have run
  // before.
  Status run(Stream* stream = nullptr);

  // Waits for each step, so that an error of the device is the error of the step that caused it.
  void set_wait_for_steps(bool wait) { wait_for_steps_ = wait; }
  void set_observer(StepObserver observer) { observer_ = std::move(observer); }
  void set_tap(std::vector<int32_t> tensors, TensorTap tap);

 private:
  struct Late;
  Status gather_symbols(std::vector<int64_t>* symbols) const;
  Status check_inputs(const ShapePlan& plan) const;
  Status prepare_memory();
  void point_steps();
  void fill_shape_tensors(const ShapeValues& shapes);
  void fill_shape_tensor(size_t tensor, const ShapeValues& shapes);
  Status run_late(size_t step, void* workspace, Stream* stream);
  Status run_steps(Stream* stream, std::span<Stream* const> aux, size_t first, size_t end);
  Status run_step(size_t step, Stream* stream);
  size_t recordable_steps() const;
  Status replay(Stream* stream, size_t* done);
  Status mirror_shape_tensors(Stream* stream);
  void* address_of(int32_t tensor) const;

  std::shared_ptr<const EngineCore> engine_;
  size_t profile_ = 0;
  std::vector<Dims> input_dims_;
  std::vector<uint8_t> input_known_;
  std::vector<const void*> input_address_;
  std::vector<void*> output_address_;
  std::vector<OutputSink*> sinks_;

  std::vector<int32_t> input_of_symbol_;  // -1: a data-dependent symbol
  std::vector<int64_t> symbols_;          // of the shapes set last
  std::shared_ptr<const ShapePlan> plan_;
  std::vector<std::shared_ptr<const ShapePlan>> seen_;  // by this context, most recent first: found without a lock
  bool capturing_ = false;                              // the stream of the run at hand
  bool wait_for_steps_ = false;
  bool shapes_changed_ = true;
  bool addresses_changed_ = true;
  void* own_arena_ = nullptr;
  size_t own_arena_bytes_ = 0;
  void* user_arena_ = nullptr;
  size_t user_arena_bytes_ = 0;
  std::vector<std::byte> shape_memory_;
  // On a device with memory of its own: copies there of shape tensors and of the inputs that the host reads.
  void* mirror_ = nullptr;
  size_t mirror_bytes_ = 0;
  std::vector<size_t> input_mirror_;  // offset by input; SIZE_MAX: not mirrored
  struct Recorded {
    std::shared_ptr<const ShapePlan> plan;
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    void* arena = nullptr;
    size_t steps = 0;  // the first ones of the program
    std::unique_ptr<Recording> recording;
  };
  std::list<Recorded> recorded_;  // most recently used first
  std::unique_ptr<Stream> default_stream_;
  AuxStreams aux_;
  std::vector<Stream*> given_streams_;
  std::vector<const void*> input_pointers_;  // of all steps, one after the other
  std::vector<void*> output_pointers_;
  std::vector<size_t> input_start_, output_start_;
  std::unique_ptr<Late> late_;
  StepObserver observer_;
  TensorTap tap_;
  std::vector<std::vector<int32_t>> tapped_;  // by step: tensors that are complete after it
};

}  // namespace wootz
