#include "runtime/bindings.h"

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace wootz {
namespace {

// Distinct in the whole process, so that bindings of different origin never pass for each other.
uint64_t next_version() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

const SymbolRange* range_of(const Program& program, size_t profile, SymbolIndex symbol) {
  return profile < program.profiles.size() ? &program.profiles[profile].symbols[symbol] : nullptr;
}

}  // namespace

Bindings::Bindings(std::shared_ptr<const EngineCore> engine) : engine_(std::move(engine)) {
  const Program& program = engine_->program();
  inputs_.resize(program.inputs.size());
  outputs_.resize(program.outputs.size());
  for (const IoTensor& input : program.inputs) reads_values_ = reads_values_ || input.is_shape_tensor;
  for (const PlanSymbol& symbol : program.symbols) {
    const auto input = std::find_if(program.inputs.begin(), program.inputs.end(),
                                    [&](const auto& i) { return i.tensor == symbol.tensor; });
    input_of_symbol_.push_back(input == program.inputs.end() ? -1
                                                             : static_cast<int32_t>(input - program.inputs.begin()));
  }
  set_constant_dims();
}

// Inputs whose extents are constants need not be set.
void Bindings::set_constant_dims() {
  const Program& program = engine_->program();
  ShapeValues shapes;
  const std::vector<int64_t> none(program.symbols.size(), -1);
  if (!evaluate_shapes(program, none, &shapes).ok()) return;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const std::optional<Dims> dims = tensor_dims(input_tensor(i), shapes);
    inputs_[i].dims = dims.value_or(Dims{});
    inputs_[i].dims_known = dims.has_value();
  }
}

void Bindings::copy_from(const Bindings& other) {
  profile_ = other.profile_;
  shown_profile_ = other.shown_profile_;
  inputs_ = other.inputs_;
  outputs_ = other.outputs_;
  sinks_ = other.sinks_;
  memory_ = other.memory_;
  memory_bytes_ = other.memory_bytes_;
  memory_required_ = other.memory_required_;
  shapes_changed_ = other.shapes_changed_;
  changed_ = other.changed_;
  version_ = other.version_;
  symbols_ = other.symbols_;
  plan_ = other.plan_;
  generation_ = other.generation_;
}

const PlanTensor& Bindings::input_tensor(size_t input) const {
  const Program& program = engine_->program();
  return program.tensors[program.inputs[input].tensor];
}

Status Bindings::set_profile(size_t profile, size_t shown) {
  if (profile >= engine_->program().profiles.size())
    return invalid_argument("profile {} of {}", profile, engine_->program().profiles.size());
  profile_ = profile;
  shown_profile_ = shown;
  set_constant_dims();
  shapes_changed_ = changed_ = true;
  return Status();
}

Status Bindings::set_input_dims(size_t input, const Dims& dims) {
  if (inputs_[input].dims_known && inputs_[input].dims == dims) return Status();
  const Program& program = engine_->program();
  const PlanTensor& tensor = input_tensor(input);
  if (dims.size() != tensor.dims.size())
    return invalid_argument("input '{}' has rank {}, shape {} given", tensor.name, tensor.dims.size(),
                            dims.to_string());
  for (size_t a = 0; a < dims.size(); ++a) {
    const ShapeExpr& e = program.exprs[tensor.dims[a]];
    if (e.op == ShapeOp::kConst && e.value != dims[a])
      return invalid_argument("input '{}': dimension {} is {}, shape {} given", tensor.name, a, e.value,
                              dims.to_string());
    if (e.op != ShapeOp::kSymbol) continue;
    const SymbolRange* const range = range_of(program, profile_, e.symbol());
    if (range != nullptr && (dims[a] < range->min || dims[a] > range->max))
      return invalid_argument("input '{}': shape {} is outside profile {}: dimension {} must be in [{}, {}]",
                              tensor.name, dims.to_string(), shown_profile_, a, range->min, range->max);
  }
  inputs_[input].dims = dims;
  inputs_[input].dims_known = true;
  shapes_changed_ = changed_ = true;
  return Status();
}

void Bindings::set_input_address(size_t input, const void* address) {
  if (inputs_[input].address == address) return;
  inputs_[input].address = address;
  changed_ = true;
}

bool Bindings::input_specified(size_t input) const {
  const Input& i = inputs_[input];
  return i.dims_known && (i.address != nullptr || !engine_->program().inputs[input].is_shape_tensor);
}

void Bindings::set_output_address(size_t output, void* address) {
  if (outputs_[output].address == address) return;
  outputs_[output].address = address;
  changed_ = true;
}

void Bindings::set_output_sink(size_t output, std::shared_ptr<OutputSink> sink) {
  if (outputs_[output].sink == sink) return;
  sinks_ += (sink != nullptr ? 1 : 0);
  sinks_ -= (outputs_[output].sink != nullptr ? 1 : 0);
  outputs_[output].sink = std::move(sink);
  changed_ = true;
}

void Bindings::set_memory(void* memory, size_t bytes) {
  if (memory_ == memory && memory_bytes_ == bytes) return;
  memory_ = memory;
  memory_bytes_ = bytes;
  changed_ = true;
}

void Bindings::take_addresses(const Bindings& other) {
  for (size_t i = 0; i < inputs_.size(); ++i) inputs_[i].address = other.inputs_[i].address;
  outputs_ = other.outputs_;
  sinks_ = other.sinks_;
  memory_ = other.memory_;
  memory_bytes_ = other.memory_bytes_;
  memory_required_ = other.memory_required_;
  changed_ = true;
}

// What the shapes, and the values of input shape tensors, make of the program's symbols.
Status Bindings::read_symbols() {
  const Program& program = engine_->program();
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (!inputs_[i].dims_known)
      return make_error(Code::kInvalidState, "the shape of input '{}' is not set", input_tensor(i).name);
  symbols_.assign(program.symbols.size(), -1);
  for (const SymbolIndex s : program.symbols.indices()) {
    const PlanSymbol& symbol = program.symbols[s];
    if (symbol.source == SymbolSource::kDataDependent) continue;
    const auto i = static_cast<size_t>(input_of_symbol_[s]);
    const Input& input = inputs_[i];
    if (symbol.source == SymbolSource::kInputDim) {
      symbols_[s.position()] = input.dims[static_cast<size_t>(symbol.axis)];
      continue;
    }
    const PlanTensor& tensor = input_tensor(i);
    if (symbol.axis >= input.dims.volume())
      return invalid_argument("input shape tensor '{}' has {} elements, element {} is needed", tensor.name,
                              input.dims.volume(), symbol.axis);
    if (input.address == nullptr)
      return make_error(Code::kInvalidState, "the address of input shape tensor '{}' is not set", tensor.name);
    symbols_[s.position()] = HostTensor::wrap(tensor.dtype, input.dims, input.address, nullptr).get_i64(symbol.axis);
  }
  return check_ranges();
}

Status Bindings::check_ranges() const {
  const Program& program = engine_->program();
  for (const SymbolIndex s : program.symbols.indices()) {
    const PlanSymbol& symbol = program.symbols[s];
    const SymbolRange* const range = range_of(program, profile_, s);
    if (range == nullptr || (symbols_[s.position()] < 0 && symbol.source == SymbolSource::kDataDependent)) continue;
    if (symbols_[s.position()] < range->min || symbols_[s.position()] > range->max)
      return invalid_argument("input '{}': {} = {} is outside profile {}, which allows [{}, {}]",
                              program.tensors[symbol.tensor].name, symbol.name, symbols_[s.position()], shown_profile_,
                              range->min, range->max);
  }
  return Status();
}

// A dimension that several inputs share must be the same in all of them.
Status Bindings::check_agreement(const ShapePlan& plan) const {
  const Program& program = engine_->program();
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const TensorIndex t = program.inputs[i].tensor;
    if (plan.known[t] && !(plan.dims[t] == inputs_[i].dims))
      return invalid_argument("input '{}' has shape {}, but the other inputs make it {}", program.tensors[t].name,
                              inputs_[i].dims.to_string(), plan.dims[t].to_string());
  }
  return Status();
}

// The plan of symbols_, which becomes the first of the recent ones.
Status Bindings::find_plan(NewShapes shapes) {
  const auto seen = std::find_if(recent_.begin(), recent_.end(), [&](const auto& p) { return p->symbols == symbols_; });
  if (seen != recent_.end()) {
    std::rotate(recent_.begin(), seen, seen + 1);
    return Status();
  }
  if (shapes == NewShapes::kRefused)
    return make_error(Code::kInvalidState,
                      "these shapes are new to the context: run them once before a stream is captured");
  WOOTZ_ASSIGN_OR_RETURN(std::shared_ptr<const ShapePlan> plan, engine_->shape_plan(symbols_));
  if (recent_.size() >= std::max<size_t>(1, engine_->options().cached_shapes)) recent_.pop_back();
  recent_.insert(recent_.begin(), std::move(plan));
  return Status();
}

Status Bindings::resolve_shapes(NewShapes shapes) {
  if (const uint64_t now = engine_->generation(); now != generation_) {
    generation_ = now;
    recent_.clear();
    plan_ = nullptr;
    shapes_changed_ = changed_ = true;
  }
  if (!shapes_changed_ && !reads_values_) return Status();
  const bool set = shapes_changed_;
  shapes_changed_ = true;  // until it has succeeded: symbols_ is overwritten
  WOOTZ_RETURN_IF_ERROR(read_symbols());
  if (plan_ == nullptr || plan_->symbols != symbols_) {
    WOOTZ_RETURN_IF_ERROR(find_plan(shapes));
    WOOTZ_RETURN_IF_ERROR(check_agreement(*recent_.front()));
    plan_ = recent_.front();
    changed_ = true;
  } else if (set) {
    WOOTZ_RETURN_IF_ERROR(check_agreement(*plan_));
  }
  shapes_changed_ = false;
  return Status();
}

Status Bindings::check_addresses() const {
  const Program& program = engine_->program();
  const Device& device = engine_->device();
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const PlanTensor& tensor = input_tensor(i);
    if (inputs_[i].address == nullptr && inputs_[i].dims.volume() != 0)
      return make_error(Code::kInvalidState, "the address of input '{}' is not set", tensor.name);
    if (program.inputs[i].is_shape_tensor) continue;  // the host's memory
    const Status aligned = check_alignment(device, inputs_[i].address, tensor_bytes(tensor, inputs_[i].dims));
    if (!aligned.ok()) return aligned.with_prefix(fmt::format("input '{}'", tensor.name));
  }
  for (size_t o = 0; o < outputs_.size(); ++o) {
    const TensorIndex t = program.outputs[o].tensor;
    if (outputs_[o].sink != nullptr) continue;
    const size_t bytes = plan_->known[t] ? tensor_bytes(program.tensors[t], plan_->dims[t]) : SIZE_MAX;
    if (outputs_[o].address == nullptr && bytes != 0)
      return make_error(Code::kInvalidState, "output '{}' has neither an address nor an allocator",
                        program.tensors[t].name);
    if (program.outputs[o].is_shape_tensor) continue;
    const Status aligned = check_alignment(device, outputs_[o].address, bytes);
    if (!aligned.ok()) return aligned.with_prefix(fmt::format("output '{}'", program.tensors[t].name));
  }
  return Status();
}

Status Bindings::check_memory() const {
  const size_t need = plan_->total_bytes();
  if (memory_ == nullptr && memory_required_ && need > 0)
    return make_error(Code::kInvalidState, "the context was created without device memory: set {} bytes of it first",
                      need);
  if (memory_ != nullptr && memory_bytes_ < need)
    return make_error(Code::kResourceExhausted, "the given device memory has {} bytes, these shapes need {}",
                      memory_bytes_, need);
  return Status();
}

Status Bindings::validate(NewShapes shapes) {
  WOOTZ_RETURN_IF_ERROR(resolve_shapes(shapes));
  if (!changed_) return Status();
  WOOTZ_RETURN_IF_ERROR(check_addresses());
  WOOTZ_RETURN_IF_ERROR(check_memory());
  changed_ = false;
  version_ = next_version();
  return Status();
}

}  // namespace wootz
