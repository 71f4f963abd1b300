#include "runtime/executor.h"

#include <algorithm>
#include <chrono>

#include "base/thread_pool.h"
#include "runtime/late.h"

namespace wootz {

Executor::Executor(std::shared_ptr<const EngineCore> engine) : engine_(std::move(engine)) {
  const Program& program = engine_->program();
  input_dims_.resize(program.inputs.size());
  input_known_.assign(program.inputs.size(), 0);
  input_address_.assign(program.inputs.size(), nullptr);
  output_address_.assign(program.outputs.size(), nullptr);
  sinks_.assign(program.outputs.size(), nullptr);
  size_t in = 0, out = 0;
  for (const Step& step : program.steps) {
    input_start_.push_back(in);
    output_start_.push_back(out);
    in += step.inputs.size();
    out += step.outputs.size();
  }
  for (const PlanSymbol& symbol : program.symbols) {
    const auto input = std::find_if(program.inputs.begin(), program.inputs.end(),
                                    [&](const auto& i) { return i.tensor == symbol.tensor; });
    input_of_symbol_.push_back(input == program.inputs.end() ? -1
                                                             : static_cast<int32_t>(input - program.inputs.begin()));
  }
  input_pointers_.assign(in, nullptr);
  output_pointers_.assign(out, nullptr);
  // Inputs whose extents are constants need not be set.
  ShapeValues shapes;
  const std::vector<int64_t> none(program.symbols.size(), -1);
  if (!evaluate_shapes(program, none, &shapes).ok()) return;
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    if (const auto dims = tensor_dims(program.tensors[static_cast<size_t>(program.inputs[i].tensor)], shapes)) {
      input_dims_[i] = *dims;
      input_known_[i] = 1;
    }
  }
}

Executor::~Executor() {
  recorded_.clear();
  if (mirror_ != nullptr) engine_->device().free(mirror_);
  if (own_arena_ != nullptr) engine_->device().free(own_arena_);
}

Status Executor::set_profile(size_t profile) {
  if (profile >= engine_->program().profiles.size())
    return invalid_argument("profile {} of {}", profile, engine_->program().profiles.size());
  profile_ = profile;
  shapes_changed_ = true;
  return Status();
}

Status Executor::set_input_dims(size_t input, const Dims& dims) {
  const Program& program = engine_->program();
  const PlanTensor& tensor = program.tensors[static_cast<size_t>(program.inputs[input].tensor)];
  if (dims.size() != tensor.dims.size())
    return invalid_argument("input '{}' has rank {}, shape {} given", tensor.name, tensor.dims.size(),
                            dims.to_string());
  const PlanProfile* profile = profile_ < program.profiles.size() ? &program.profiles[profile_] : nullptr;
  for (size_t a = 0; a < dims.size(); ++a) {
    const ShapeExpr& e = program.exprs[static_cast<size_t>(tensor.dims[a])];
    if (e.op == ShapeOp::kConst && e.value != dims[a])
      return invalid_argument("input '{}': dimension {} is {}, shape {} given", tensor.name, a, e.value,
                              dims.to_string());
    if (e.op != ShapeOp::kSymbol || profile == nullptr) continue;
    const SymbolRange& range = profile->symbols[static_cast<size_t>(e.value)];
    if (dims[a] < range.min || dims[a] > range.max)
      return invalid_argument("input '{}': shape {} is outside profile {}: dimension {} must be in [{}, {}]",
                              tensor.name, dims.to_string(), profile_, a, range.min, range.max);
  }
  if (input_known_[input] && input_dims_[input] == dims) return Status();
  input_dims_[input] = dims;
  input_known_[input] = 1;
  shapes_changed_ = true;
  return Status();
}

void Executor::set_input_address(size_t input, const void* address) {
  if (input_address_[input] == address && !engine_->program().inputs[input].is_shape_tensor) return;
  input_address_[input] = address;
  addresses_changed_ = true;
  if (engine_->program().inputs[input].is_shape_tensor) shapes_changed_ = true;
}

void Executor::set_output_address(size_t output, void* address) {
  if (output_address_[output] == address) return;
  output_address_[output] = address;
  addresses_changed_ = true;
}

void Executor::set_arena(void* memory, size_t bytes) {
  if (user_arena_ == memory && user_arena_bytes_ == bytes) return;
  user_arena_ = memory;
  user_arena_bytes_ = bytes;
  addresses_changed_ = true;
}

void Executor::set_tap(std::vector<int32_t> tensors, TensorTap tap) {
  const Program& program = engine_->program();
  const std::vector<int> complete = completing_steps(program);
  tapped_.assign(program.steps.size(), {});
  for (int32_t t : tensors)
    if (t >= 0 && static_cast<size_t>(t) < complete.size() && complete[static_cast<size_t>(t)] >= 0)
      tapped_[static_cast<size_t>(complete[static_cast<size_t>(t)])].push_back(t);
  tap_ = std::move(tap);
}

Status Executor::gather_symbols(std::vector<int64_t>* symbols) const {
  const Program& program = engine_->program();
  symbols->assign(program.symbols.size(), -1);
  for (size_t i = 0; i < program.inputs.size(); ++i)
    if (!input_known_[i])
      return make_error(Code::kInvalidState, "the shape of input '{}' is not set",
                        program.tensors[static_cast<size_t>(program.inputs[i].tensor)].name);
  for (size_t s = 0; s < program.symbols.size(); ++s) {
    const PlanSymbol& symbol = program.symbols[s];
    if (symbol.source == SymbolSource::kDataDependent) continue;
    const auto input = static_cast<size_t>(input_of_symbol_[s]);
    const auto axis = static_cast<size_t>(symbol.axis);
    if (symbol.source == SymbolSource::kInputDim) {
      (*symbols)[s] = input_dims_[input][axis];
      continue;
    }
    const PlanTensor& tensor = program.tensors[static_cast<size_t>(symbol.tensor)];
    if (input_address_[input] == nullptr)
      return make_error(Code::kInvalidState, "the address of input shape tensor '{}' is not set", tensor.name);
    if (symbol.axis >= input_dims_[input].volume())
      return invalid_argument("input shape tensor '{}' has {} elements, element {} is needed", tensor.name,
                              input_dims_[input].volume(), symbol.axis);
    (*symbols)[s] =
        HostTensor::wrap(tensor.dtype, input_dims_[input], input_address_[input], nullptr).get_i64(symbol.axis);
  }
  const PlanProfile* profile = profile_ < program.profiles.size() ? &program.profiles[profile_] : nullptr;
  for (size_t s = 0; profile != nullptr && s < program.symbols.size(); ++s) {
    const SymbolRange& range = profile->symbols[s];
    if ((*symbols)[s] < 0 && program.symbols[s].source == SymbolSource::kDataDependent) continue;
    if ((*symbols)[s] < range.min || (*symbols)[s] > range.max)
      return invalid_argument("input '{}': {} = {} is outside profile {}, which allows [{}, {}]",
                              program.tensors[static_cast<size_t>(program.symbols[s].tensor)].name,
                              program.symbols[s].name, (*symbols)[s], profile_, range.min, range.max);
  }
  return Status();
}

// A dimension that several inputs share must be the same in all of them.
Status Executor::check_inputs(const ShapePlan& plan) const {
  const Program& program = engine_->program();
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    const auto t = static_cast<size_t>(program.inputs[i].tensor);
    if (plan.known[t] && !(plan.dims[t] == input_dims_[i]))
      return invalid_argument("input '{}' has shape {}, but the other inputs make it {}", program.tensors[t].name,
                              input_dims_[i].to_string(), plan.dims[t].to_string());
  }
  return Status();
}

Status Executor::prepare_memory() {
  const size_t need = plan_->total_bytes();
  if (user_arena_ != nullptr) {
    if (user_arena_bytes_ < need)
      return make_error(Code::kResourceExhausted, "the given device memory has {} bytes, these shapes need {}",
                        user_arena_bytes_, need);
  } else {
    WOOTZ_RETURN_IF_ERROR(reserve(need));
  }
  if (shape_memory_.size() < plan_->shape_bytes) shape_memory_.resize(plan_->shape_bytes);
  if (engine_->device().host_memory()) return Status();
  const Program& program = engine_->program();
  input_mirror_.assign(program.inputs.size(), SIZE_MAX);
  size_t bytes = plan_->shape_bytes;
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    if (!program.inputs[i].is_shape_tensor) continue;
    input_mirror_[i] = bytes;
    bytes += (tensor_bytes(program.tensors[static_cast<size_t>(program.inputs[i].tensor)], input_dims_[i]) + 64) & ~63U;
  }
  WOOTZ_RETURN_IF_ERROR(aux_.prepare(engine_->device(), plan_->order));
  if (bytes <= mirror_bytes_) return Status();
  if (mirror_ != nullptr) engine_->device().free(mirror_);
  mirror_ = nullptr;
  mirror_bytes_ = 0;
  Result<void*> memory = engine_->device().allocate(bytes, 64);
  if (!memory.ok()) return memory.status().with_prefix("memory for shape tensors");
  mirror_ = *memory;
  mirror_bytes_ = bytes;
  return Status();
}

Status Executor::mirror_shape_tensors(Stream* stream) {
  if (mirror_bytes_ == 0) return Status();
  Device& device = engine_->device();
  if (plan_->shape_bytes != 0)
    WOOTZ_RETURN_IF_ERROR(device.copy(mirror_, shape_memory_.data(), plan_->shape_bytes, stream));
  const Program& program = engine_->program();
  for (size_t i = 0; i < input_mirror_.size(); ++i) {
    if (input_mirror_[i] == SIZE_MAX || input_address_[i] == nullptr) continue;
    const size_t bytes = tensor_bytes(program.tensors[static_cast<size_t>(program.inputs[i].tensor)], input_dims_[i]);
    if (bytes != 0)
      WOOTZ_RETURN_IF_ERROR(
          device.copy(static_cast<std::byte*>(mirror_) + input_mirror_[i], input_address_[i], bytes, stream));
  }
  return Status();
}

void Executor::fill_shape_tensors(const ShapeValues& shapes) {
  const Program& program = engine_->program();
  for (size_t t = 0; plan_->shape_bytes != 0 && t < program.tensors.size(); ++t)
    if (program.tensors[t].kind == TensorKind::kShape) fill_shape_tensor(t, shapes);
}

void Executor::fill_shape_tensor(size_t t, const ShapeValues& shapes) {
  const PlanTensor& tensor = engine_->program().tensors[t];
  HostTensor view = HostTensor::wrap(tensor.dtype, Dims{static_cast<int64_t>(tensor.values.size())},
                                     shape_memory_.data() + plan_->locations[t].offset, nullptr);
  for (size_t e = 0; e < tensor.values.size(); ++e)
    if (shapes.known[static_cast<size_t>(tensor.values[e])])
      view.set_i64(static_cast<int64_t>(e), shapes.values[static_cast<size_t>(tensor.values[e])]);
}

void* Executor::address_of(int32_t tensor) const {
  const Location& where = plan_->locations[static_cast<size_t>(tensor)];
  auto* arena = static_cast<std::byte*>(user_arena_ != nullptr ? user_arena_ : own_arena_);
  const auto moved = [&](void* base) {
    return base == nullptr ? nullptr : static_cast<std::byte*>(base) + where.offset;
  };
  switch (where.place) {
    case Place::kInput:
      if (!input_mirror_.empty() && input_mirror_[static_cast<size_t>(where.index)] != SIZE_MAX)
        return moved(static_cast<std::byte*>(mirror_) + input_mirror_[static_cast<size_t>(where.index)]);
      return moved(const_cast<void*>(input_address_[static_cast<size_t>(where.index)]));
    case Place::kOutput: return moved(output_address_[static_cast<size_t>(where.index)]);
    case Place::kConstant: return moved(const_cast<void*>(engine_->constant_address(static_cast<size_t>(where.index))));
    case Place::kArena: return arena + where.offset;
    case Place::kShape:
      if (mirror_ != nullptr) return static_cast<std::byte*>(mirror_) + where.offset;
      return const_cast<std::byte*>(shape_memory_.data()) + where.offset;
    case Place::kLate: return late_ == nullptr ? nullptr : late_->buffers[static_cast<size_t>(where.index)].memory;
  }
  return nullptr;
}

void Executor::point_steps() {
  const Program& program = engine_->program();
  for (size_t s = 0; s < program.steps.size(); ++s) {
    const Step& step = program.steps[s];
    for (size_t i = 0; i < step.inputs.size(); ++i)
      input_pointers_[input_start_[s] + i] = step.inputs[i] < 0 ? nullptr : address_of(step.inputs[i]);
    for (size_t o = 0; o < step.outputs.size(); ++o)
      output_pointers_[output_start_[s] + o] = step.outputs[o] < 0 ? nullptr : address_of(step.outputs[o]);
  }
}

Status Executor::reserve(size_t bytes) {
  if (bytes <= own_arena_bytes_) return Status();
  if (own_arena_ != nullptr) engine_->device().free(own_arena_);
  own_arena_ = nullptr;
  own_arena_bytes_ = 0;
  addresses_changed_ = true;
  Result<void*> memory = engine_->device().allocate(bytes, 64);
  if (!memory.ok()) return memory.status().with_prefix("activation memory");
  own_arena_ = *memory;
  own_arena_bytes_ = bytes;
  return Status();
}

Status Executor::resolve_shapes() {
  if (!shapes_changed_ && plan_ != nullptr) return Status();
  WOOTZ_RETURN_IF_ERROR(gather_symbols(&symbols_));
  if (plan_ == nullptr || plan_->symbols != symbols_) {
    const auto seen = std::find_if(seen_.begin(), seen_.end(), [&](const auto& p) { return p->symbols == symbols_; });
    if (seen != seen_.end()) {
      WOOTZ_RETURN_IF_ERROR(check_inputs(**seen));
      std::rotate(seen_.begin(), seen, seen + 1);
    } else {
      if (capturing_)
        return make_error(Code::kInvalidState,
                          "these shapes are new to the context: run them once before a stream is captured");
      WOOTZ_ASSIGN_OR_RETURN(std::shared_ptr<const ShapePlan> plan, engine_->shape_plan(symbols_));
      WOOTZ_RETURN_IF_ERROR(check_inputs(*plan));
      if (seen_.size() >= std::max<size_t>(1, engine_->options().cached_shapes)) seen_.pop_back();
      seen_.insert(seen_.begin(), std::move(plan));
    }
    plan_ = seen_.front();
  } else {
    WOOTZ_RETURN_IF_ERROR(check_inputs(*plan_));
  }
  shapes_changed_ = false;
  addresses_changed_ = true;
  return Status();
}

Status Executor::resolve() {
  WOOTZ_RETURN_IF_ERROR(resolve_shapes());
  if (!addresses_changed_) return Status();
  WOOTZ_RETURN_IF_ERROR(prepare_memory());
  fill_shape_tensors(plan_->shapes);
  if (plan_->any_late && late_ == nullptr) {
    late_ = std::make_unique<Late>(engine_->device(), engine_->program());
  }
  point_steps();
  addresses_changed_ = false;
  return Status();
}

std::optional<Dims> Executor::dims(int32_t tensor) const {
  if (plan_ == nullptr) return std::nullopt;
  const auto t = static_cast<size_t>(tensor);
  if (plan_->known[t]) return plan_->dims[t];
  if (late_ == nullptr || late_->shapes.known.empty()) return std::nullopt;
  return tensor_dims(engine_->program().tensors[t], late_->shapes);
}

namespace {
// Tells tools what the host does while it lives.
class Range {
 public:
  Range(const RangeHooks* hooks, const char* name) : hooks_(hooks) {
    if (hooks_ != nullptr) hooks_->begin(name);
  }
  ~Range() {
    if (hooks_ != nullptr) hooks_->end();
  }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

 private:
  const RangeHooks* hooks_;
};
}  // namespace

Status Executor::run(Stream* stream) {
  const bool on_device = !engine_->device().host_memory();
  if (on_device && stream == nullptr) {
    if (default_stream_ == nullptr) {
      WOOTZ_ASSIGN_OR_RETURN(default_stream_, engine_->device().adopt_stream(nullptr));
    }
    stream = default_stream_.get();
  }
  const bool mirror = on_device && (addresses_changed_ || shapes_changed_);
  capturing_ = on_device && stream->capturing();
  WOOTZ_RETURN_IF_ERROR(resolve());
  const Program& program = engine_->program();
  for (size_t i = 0; i < program.inputs.size(); ++i)
    if (input_address_[i] == nullptr && input_dims_[i].volume() != 0)
      return make_error(Code::kInvalidState, "the address of input '{}' is not set",
                        program.tensors[static_cast<size_t>(program.inputs[i].tensor)].name);
  for (size_t o = 0; o < program.outputs.size(); ++o) {
    const auto t = static_cast<size_t>(program.outputs[o].tensor);
    const bool empty = plan_->known[t] && plan_->dims[t].volume() == 0;
    if (output_address_[o] == nullptr && sinks_[o] == nullptr && !empty)
      return make_error(Code::kInvalidState, "the address of output '{}' is not set", program.tensors[t].name);
    if (sinks_[o] != nullptr && plan_->known[t]) {
      void* memory =
          sinks_[o]->reallocate(static_cast<int>(o), tensor_bytes(program.tensors[t], plan_->dims[t]), plan_->dims[t]);
      if (memory == nullptr && !empty)
        return make_error(Code::kResourceExhausted, "the output allocator refused memory for '{}'",
                          program.tensors[t].name);
      set_output_address(o, memory);
    }
  }
  WOOTZ_RETURN_IF_ERROR(resolve());  // addresses may have moved
  if (capturing_ && recordable_steps() != program.steps.size())
    return make_error(Code::kInvalidState,
                      "layer '{}' waits for the device (its sizes are found by running, or the host computes it): it "
                      "cannot be part of a captured stream",
                      program.steps[recordable_steps()].name);
  if (late_ != nullptr) late_->start(*plan_);
  if (mirror) WOOTZ_RETURN_IF_ERROR(mirror_shape_tensors(stream));
  const RangeHooks* const ranges = engine_->device().ranges();
  const Range range(ranges, program.name.c_str());
  const bool whole =
      !observer_ && !tap_ && !wait_for_steps_ && !capturing_ && (ranges == nullptr || !ranges->each_step);
  size_t done = 0;
  if (on_device && whole) {
    Status status = replay(stream, &done);
    if (!status.ok() && !status.message().starts_with("layer '"))
      return status.with_prefix(fmt::format("network '{}'", program.name));
    if (!status.ok() || done == program.steps.size()) return status;
  }
  return run_steps(stream, given_streams_, done, program.steps.size());
}

// How many steps from the first on can be recorded: up to one whose extents only running tells, or that waits.
size_t Executor::recordable_steps() const {
  size_t count = 0;
  while (count < plan_->calls.size() && !plan_->late[count] && plan_->calls[count]->recordable()) ++count;
  return count;
}

// Runs the first steps from a recording of this shape, made now where there is none at these addresses. `done`: how
// many.
Status Executor::replay(Stream* stream, size_t* done) {
  constexpr size_t kFewest = 4;  // less is not worth it, unless it is all
  const size_t kept = std::max<size_t>(1, engine_->options().cached_shapes);
  void* const arena = user_arena_ != nullptr ? user_arena_ : own_arena_;
  auto found = recorded_.begin();
  while (found != recorded_.end() && found->plan != plan_) ++found;
  if (found != recorded_.end() && found->arena == arena && found->inputs == input_pointers_ &&
      found->outputs == output_pointers_) {
    if (found != recorded_.begin()) recorded_.splice(recorded_.begin(), recorded_, found);
    *done = found->steps;
    return recorded_.front().recording->replay(*stream);
  }
  const size_t steps = recordable_steps();
  if (steps < kFewest && steps != plan_->calls.size()) return Status();
  std::unique_ptr<Recording> previous;
  if (found != recorded_.end()) {
    previous = std::move(found->recording);
    recorded_.erase(found);
  }
  Result<std::unique_ptr<Recording>> made = engine_->device().record(
      *stream, [&](Stream& recorder) { return run_steps(&recorder, {}, 0, steps); }, std::move(previous));
  if (!made.ok()) return made.status();
  if (*made == nullptr) return Status();
  recorded_.push_front({plan_, input_pointers_, output_pointers_, arena, steps, std::move(made).value()});
  if (recorded_.size() > kept) recorded_.pop_back();
  *done = steps;
  return recorded_.front().recording->replay(*stream);
}

Status Executor::run_step(size_t s, Stream* stream) {
  auto* const arena = static_cast<std::byte*>(user_arena_ != nullptr ? user_arena_ : own_arena_);
  void* const workspace = arena == nullptr ? nullptr : arena + plan_->workspace_of(s);
  if (plan_->late[s]) return run_late(s, workspace, stream);
  return plan_->calls[s]->run({input_pointers_.data() + input_start_[s], output_pointers_.data() + output_start_[s],
                               workspace, nullptr, stream});
}

// `aux`: streams for the program's auxiliary ones; those that are missing are our own.
Status Executor::run_steps(Stream* stream, std::span<Stream* const> aux, size_t first, size_t end) {
  const Program& program = engine_->program();
  const bool wait = stream != nullptr && (observer_ || tap_ || wait_for_steps_) && !capturing_;
  const bool beside = stream != nullptr && !wait && aux_.ready(plan_->order);  // else one step after the other
  const RangeHooks* const ranges = engine_->device().ranges();
  const ActiveScope active;
  const ParallelScope threads(engine_->options().threads);
  using Clock = std::chrono::steady_clock;
  if (wait) WOOTZ_RETURN_IF_ERROR(stream->synchronize());
  if (beside) WOOTZ_RETURN_IF_ERROR(aux_.begin(plan_->order, *stream, aux));
  for (size_t s = first; s < end; ++s) {
    const Range range(ranges, program.steps[s].name.c_str());
    const Clock::time_point start = observer_ ? Clock::now() : Clock::time_point{};
    Stream* on = stream;
    if (beside) {
      WOOTZ_ASSIGN_OR_RETURN(on, aux_.before(s));
    }
    Status status = run_step(s, on);
    if (beside && status.ok()) status = aux_.after(s);
    if (wait && status.ok()) status = stream->synchronize();
    if (!status.ok()) [[unlikely]] {
      const bool placed = status.message().starts_with("layer '");
      return placed ? status
                    : status.with_prefix(
                          fmt::format("layer '{}' ({})", program.steps[s].name, program.steps[s].tactic.to_string()));
    }
    if (observer_) observer_(s, std::chrono::duration<double, std::micro>(Clock::now() - start).count());
    if (tap_) {
      for (const int32_t t : tapped_[s])
        if (const std::optional<Dims> extents = dims(t))
          if (Status shown = tap_(t, address_of(t), *extents); !shown.ok())
            return shown.with_prefix(fmt::format("layer '{}'", program.steps[s].name));
    }
  }
  return beside ? aux_.end() : Status();
}

}  // namespace wootz
