// What an application sets for the next inference: the profile, shapes and addresses of inputs and outputs, memory.
#pragma once

#include <memory>
#include <vector>

#include "runtime/engine_core.h"

namespace wootz {

// Where an output's elements go when its memory is decided while running.
class OutputSink {
 public:
  virtual ~OutputSink() = default;
  // Called once in a run. `current`: the address that is set for the output. Null: refused.
  virtual void* reallocate(int output, void* current, size_t bytes, const Dims& dims) = 0;
};

// Not thread-safe. Setting only notes what changed; validate() is the one place where it is all checked, and costs next
// to nothing when nothing changed. Inputs and outputs by number, as in Program::inputs / outputs.
class Bindings {
 public:
  explicit Bindings(std::shared_ptr<const EngineCore> engine);
  Bindings(const Bindings&) = delete;
  Bindings& operator=(const Bindings&) = delete;
  // Takes over everything that `other`, of the same engine, has bound. No allocation from the second time on.
  void copy_from(const Bindings& other);

  const EngineCore& engine() const { return *engine_; }
  // Forgets the shapes set before: they were checked against another profile. `shown`: its number in messages.
  Status set_profile(size_t profile, size_t shown);
  Status set_profile(size_t profile) { return set_profile(profile, profile); }
  size_t profile() const { return profile_; }

  // Errors: another rank, another constant extent, outside the profile.
  Status set_input_dims(size_t input, const Dims& dims);
  const Dims& input_dims(size_t input) const { return inputs_[input].dims; }
  bool input_dims_known(size_t input) const { return inputs_[input].dims_known; }
  void set_input_address(size_t input, const void* address);
  const void* input_address(size_t input) const { return inputs_[input].address; }
  // The shape is set, and the address too where the values decide shapes.
  bool input_specified(size_t input) const;

  void set_output_address(size_t output, void* address);
  void* output_address(size_t output) const { return outputs_[output].address; }
  void set_output_sink(size_t output, std::shared_ptr<OutputSink> sink);
  OutputSink* output_sink(size_t output) const { return outputs_[output].sink.get(); }
  bool any_sink() const { return sinks_ != 0; }

  // Takes over addresses, sinks and memory from bindings of an engine with the same inputs and outputs.
  void take_addresses(const Bindings& other);

  // Memory for activations that the caller owns; null: the executor's own.
  void set_memory(void* memory, size_t bytes);
  void* memory() const { return memory_; }
  // From now on there is no memory but the caller's.
  void require_memory() { memory_required_ = true; }

  // Whether shapes may be resolved that this object has not met yet. Not while a stream is capturing: binding kernels
  // may compile and load code.
  enum class NewShapes : bool { kRefused, kAllowed };
  // Works out what the shapes decide: plan(). Errors: a shape that is not set, values or extents outside the profile,
  // inputs that disagree.
  Status resolve_shapes(NewShapes shapes = NewShapes::kAllowed);
  // The same, and everything else that a run needs: addresses and memory.
  Status validate(NewShapes shapes = NewShapes::kAllowed);
  // What resolve_shapes() found last; null before.
  const std::shared_ptr<const ShapePlan>& plan() const { return plan_; }
  // After validate(): equal numbers mean the same plan, addresses and memory, in copies too. Values of input shape
  // tensors may be others (reads_values()).
  uint64_t version() const { return version_; }
  // Some input's values decide shapes: they are read anew each time.
  bool reads_values() const { return reads_values_; }

 private:
  struct Input {
    Dims dims;
    bool dims_known = false;
    const void* address = nullptr;
  };
  struct Output {
    void* address = nullptr;
    std::shared_ptr<OutputSink> sink;
  };
  void set_constant_dims();
  Status read_symbols();
  Status check_ranges() const;
  Status check_agreement(const ShapePlan& plan) const;
  Status find_plan(NewShapes shapes);
  Status check_addresses() const;
  Status check_memory() const;
  const PlanTensor& input_tensor(size_t input) const;

  std::shared_ptr<const EngineCore> engine_;
  IndexedVector<SymbolIndex, int32_t> input_of_symbol_;  // -1: a data-dependent symbol
  bool reads_values_ = false;

  size_t profile_ = 0, shown_profile_ = 0;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
  size_t sinks_ = 0;
  void* memory_ = nullptr;
  size_t memory_bytes_ = 0;
  bool memory_required_ = false;

  bool shapes_changed_ = true;  // since resolve_shapes() last succeeded
  bool changed_ = true;         // since validate() last succeeded
  uint64_t version_ = 0;
  uint64_t generation_ = 0;       // of the engine, when shapes were resolved last
  std::vector<int64_t> symbols_;  // of the shapes resolved last
  std::shared_ptr<const ShapePlan> plan_;
  std::vector<std::shared_ptr<const ShapePlan>> recent_;  // most recent first: found without a lock
};

}  // namespace wootz
