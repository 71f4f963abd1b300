#include "runtime/run_memory.h"

namespace wootz {

RunMemory::RunMemory(std::shared_ptr<const EngineCore> engine, std::shared_ptr<GrowingBuffer> arena)
    : engine_(std::move(engine)),
      own_arena_(arena != nullptr ? std::move(arena) : std::make_shared<GrowingBuffer>(device())),
      inputs_(engine_->program().inputs.size(), nullptr),
      input_bytes_(inputs_.size(), 0),
      outputs_(engine_->program().outputs.size(), nullptr),
      mirror_(device()),
      input_mirror_(inputs_.size(), kNotMirrored),
      scratch_(device()) {}

Status RunMemory::reserve(size_t bytes) { return own_arena_->reserve(bytes).with_prefix("activation memory"); }

void RunMemory::set_temporary(std::shared_ptr<Device> device) {
  buffers_.clear();
  scratch_.use(device == nullptr ? this->device() : *device);
  temporary_ = std::move(device);
  plan_ready_ = false;
}

Status RunMemory::bind(const Bindings& bindings) {
  if (bindings.memory() == nullptr) WOOTZ_RETURN_IF_ERROR(reserve(bindings.plan()->total_bytes()));
  if (plan_ != bindings.plan()) plan_ready_ = false;
  plan_ = bindings.plan();
  own_arena_bound_ = bindings.memory() == nullptr;
  arena_ = own_arena_bound_ ? own_arena_->data() : static_cast<std::byte*>(bindings.memory());
  for (size_t i = 0; i < inputs_.size(); ++i) inputs_[i] = bindings.input_address(i);
  for (size_t o = 0; o < outputs_.size(); ++o)
    if (bindings.output_sink(o) == nullptr) outputs_[o] = bindings.output_address(o);
  return plan_ready_ ? Status() : bind_plan();
}

// What depends on the plan alone.
Status RunMemory::bind_plan() {
  if (shape_memory_.size() < plan_->shape_bytes) shape_memory_.resize(plan_->shape_bytes);
  fill_shape_tensors();
  if (plan_->any_dynamic && buffers_.empty())
    while (buffers_.size() < engine_->program().tensors.size()) buffers_.emplace_back(temporary());
  if (!device().host_memory()) WOOTZ_RETURN_IF_ERROR(bind_mirror());
  plan_ready_ = true;
  return Status();
}

Status RunMemory::bind_mirror() {
  const Program& program = engine_->program();
  size_t bytes = plan_->shape_bytes;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!program.inputs[i].is_shape_tensor) continue;
    const TensorIndex t = program.inputs[i].tensor;
    input_mirror_[i] = bytes;
    input_bytes_[i] = tensor_bytes(program.tensors[t], plan_->dims[t]);
    bytes += (input_bytes_[i] + 64) & ~size_t{63};
  }
  return mirror_.reserve(bytes).with_prefix("memory for shape tensors");
}

void RunMemory::fill_shape_tensors() {
  const Program& program = engine_->program();
  if (plan_->shape_bytes == 0) return;
  for (const TensorIndex t : program.tensors.indices())
    if (program.tensors[t].kind == TensorKind::kShape) fill_shape_tensor(t, plan_->shapes);
}

void RunMemory::fill_shape_tensor(TensorIndex t, const ShapeValues& shapes) {
  const PlanTensor& to = engine_->program().tensors[t];
  HostTensor view = HostTensor::wrap(to.dtype, Dims{static_cast<int64_t>(to.values.size())},
                                     shape_memory_.data() + plan_->locations[t].offset, nullptr);
  for (size_t e = 0; e < to.values.size(); ++e)
    if (shapes.known[to.values[e]]) view.set_i64(static_cast<int64_t>(e), shapes.values[to.values[e]]);
}

Status RunMemory::upload_shape_tensors(Stream* stream) {
  if (mirror_.data() == nullptr || plan_->shape_bytes == 0) return Status();
  return device().copy(mirror_.data(), shape_memory_.data(), plan_->shape_bytes, stream).with_prefix("shape tensors");
}

Status RunMemory::upload_shape_inputs(Stream* stream) {
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (input_mirror_[i] != kNotMirrored && inputs_[i] != nullptr && input_bytes_[i] != 0)
      WOOTZ_RETURN_IF_ERROR(device().copy(mirror_.data() + input_mirror_[i], inputs_[i], input_bytes_[i], stream));
  return Status();
}

void* RunMemory::address(TensorIndex tensor) const {
  const Location& where = plan_->locations[tensor];
  const auto index = static_cast<size_t>(where.index);
  const auto moved = [&](const void* base) -> void* {
    return base == nullptr ? nullptr : static_cast<std::byte*>(const_cast<void*>(base)) + where.offset;
  };
  switch (where.place) {
    case Place::kInput:
      return moved(input_mirror_[index] == kNotMirrored ? inputs_[index] : mirror_.data() + input_mirror_[index]);
    case Place::kOutput: return moved(outputs_[index]);
    case Place::kConstant:
      if (const void* const there = engine_->constant_address(ConstantIndex(index))) return moved(there);
      return moved(streamed_place(ConstantIndex(index)));
    case Place::kArena: return arena_ + where.offset;
    case Place::kShape: return moved(mirror_.data() != nullptr ? mirror_.data() : shape_memory_.data());
    case Place::kDynamic: return buffers_.empty() ? nullptr : buffers_[index].data();
  }
  return nullptr;
}

const void* RunMemory::streamed_place(ConstantIndex constant) const {
  const WeightResidency& residency = engine_->residency();
  const int32_t way = residency.way.has(constant) ? residency.way[constant] : -1;
  return way < 0 ? nullptr : weight_scratch() + residency.streamed[static_cast<size_t>(way)].offset;
}

void* RunMemory::grow(TensorIndex tensor, size_t bytes, Stream* stream) {
  return buffers_[static_cast<size_t>(plan_->locations[tensor].index)].room(bytes, stream);
}

}  // namespace wootz
