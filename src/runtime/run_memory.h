// All memory of one context, and where each tensor's elements are in it.
#pragma once

#include <memory>
#include <vector>

#include "runtime/bindings.h"
#include "runtime/growing_buffer.h"

namespace wootz {

// Not thread-safe. After bind() the same shapes and addresses take no memory, except for data-dependent results that
// grow.
class RunMemory {
 public:
  // `arena`: for activations, shared by who does not run at the same time; null: of its own.
  RunMemory(std::shared_ptr<const EngineCore> engine, std::shared_ptr<GrowingBuffer> arena);

  // Own activation memory of at least this size from now on.
  Status reserve(size_t bytes);
  // Memory and addresses for runs of the bindings' plan. An output that a sink decides keeps the address it had.
  Status bind(const Bindings& bindings);
  const ShapePlan& plan() const { return *plan_; }
  // Whether another executor has moved the arena since.
  bool moved() const { return own_arena_bound_ && arena_ != own_arena_->data(); }
  // Where memory of data-dependent size comes from; null: the engine's device. What there was of it is given
  // back: nothing may be at work in it.
  void set_temporary(std::shared_ptr<Device> device);

  // Where a tensor's elements are; null: nowhere yet.
  void* address(TensorIndex tensor) const;
  // The memory of activations, and in it a step's scratch memory.
  void* activations() const { return arena_; }
  void* workspace(StepIndex step) const { return arena_ == nullptr ? nullptr : arena_ + plan_->workspace_of(step); }

  // For weights on their way to the device.
  std::byte* weight_scratch() const { return arena_ == nullptr ? nullptr : arena_ + plan_->weights_at(); }

  void* output(size_t output) const { return outputs_[output]; }
  void set_output(size_t output, void* address) { outputs_[output] = address; }

  // Writes a shape tensor's elements, as far as they are known.
  void fill_shape_tensor(TensorIndex tensor, const ShapeValues& shapes);
  // On a device with memory of its own: copies there what the host wrote into shape tensors, and the inputs that the
  // host reads. Otherwise nothing.
  Status upload_shape_tensors(Stream* stream);
  Status upload_shape_inputs(Stream* stream);

  // Room for a tensor whose extents running tells, and for scratch memory of a step of such. Null: refused.
  void* grow(TensorIndex tensor, size_t bytes, Stream* stream);
  void* scratch(size_t bytes, Stream* stream) { return scratch_.room(bytes, stream); }

 private:
  static constexpr size_t kNotMirrored = SIZE_MAX;
  Device& device() const { return engine_->device(); }
  const void* streamed_place(ConstantIndex constant) const;
  Device& temporary() const { return temporary_ == nullptr ? device() : *temporary_; }
  void fill_shape_tensors();
  Status bind_plan();
  Status bind_mirror();

  std::shared_ptr<const EngineCore> engine_;
  std::shared_ptr<const ShapePlan> plan_;
  std::shared_ptr<Device> temporary_;
  bool plan_ready_ = false;     // what depends on the plan alone is done
  std::byte* arena_ = nullptr;  // the caller's or our own
  bool own_arena_bound_ = false;
  std::shared_ptr<GrowingBuffer> own_arena_;
  std::vector<const void*> inputs_;
  std::vector<size_t> input_bytes_;  // of inputs that are mirrored
  std::vector<void*> outputs_;
  std::vector<std::byte> shape_memory_;
  // On a device with memory of its own: copies there of shape tensors and of the inputs that the host reads.
  GrowingBuffer mirror_;
  std::vector<size_t> input_mirror_;    // offset by input, or kNotMirrored
  std::vector<GrowingBuffer> buffers_;  // by tensor; empty until some extent is data-dependent
  GrowingBuffer scratch_;
};

}  // namespace wootz
