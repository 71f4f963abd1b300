#include "runtime/late.h"

#include <algorithm>

#include "backend/shape_step.h"

namespace wootz {
namespace {

// Gives a late step's results their place: the user's sink or address for outputs, a growing buffer otherwise.
template <typename Given>
class LateAllocator final : public OutputAllocator {
 public:
  using Grow = std::function<void*(int32_t tensor, const Dims& dims)>;
  LateAllocator(const Step& step, const Given& given, Grow grow)
      : step_(step), given_(given), grow_(std::move(grow)), dims(step.outputs.size()), set(step.outputs.size(), 0) {}
  void* allocate(int output, const Dims& extents) override {
    const auto o = static_cast<size_t>(output);
    if (output < 0 || o >= step_.outputs.size() || step_.outputs[o] < 0) return nullptr;
    dims[o] = extents;
    set[o] = 1;
    if (given_.sized[o] && given_.dims[o] == extents) return given_.memory[o];  // nobody is asked twice
    return grow_(step_.outputs[o], extents);
  }

 private:
  const Step& step_;
  const Given& given_;
  Grow grow_;

 public:
  std::vector<Dims> dims;
  std::vector<uint8_t> set;
};

}  // namespace

Status Executor::Late::learn(const Program& program) {
  size_t left = 0;
  for (const int32_t e : open) {
    WOOTZ_ASSIGN_OR_RETURN(const bool known, evaluate_shape(program, static_cast<size_t>(e), symbols, &shapes));
    if (!known) open[left++] = e;
  }
  open.resize(left);
  return {};
}

Status Executor::run_late(size_t s, void* workspace, Stream* stream) {
  const Program& program = engine_->program();
  const Step& step = program.steps[s];
  const auto place = [&](const Status& status) { return status.with_prefix(fmt::format("layer '{}'", step.name)); };
  const auto extents = [&](int32_t t) -> std::optional<Dims> {
    return plan_->known[static_cast<size_t>(t)] ? plan_->dims[static_cast<size_t>(t)]
                                                : tensor_dims(program.tensors[static_cast<size_t>(t)], late_->shapes);
  };
  const auto grow = [&](int32_t t, const Dims& dims) -> void* {
    // Memory for other extents than the plan's would be read as if it had the plan's.
    if (const std::optional<Dims> planned = extents(t); planned && !(*planned == dims)) return nullptr;
    const Location& where = plan_->locations[static_cast<size_t>(t)];
    const size_t bytes = tensor_bytes(program.tensors[static_cast<size_t>(t)], dims);
    const bool part = program.tensors[static_cast<size_t>(t)].kind == TensorKind::kPart;  // of memory that is there
    if (where.place == Place::kOutput && !part) {
      const auto o = static_cast<size_t>(where.index);
      const bool asked = plan_->known[static_cast<size_t>(t)] != 0;  // by run(), before the first step
      if (sinks_[o] != nullptr && !asked) output_address_[o] = sinks_[o]->reallocate(where.index, bytes, dims);
      return output_address_[o];  // where later steps read it; null may be the answer for an empty one
    }
    if (where.place != Place::kLate) return address_of(t);
    return late_->room(&late_->buffers[static_cast<size_t>(where.index)], bytes, stream);
  };

  // A view was checked when the shapes were resolved, unless what it views had no extents then.
  const auto check_view = [&](int32_t t, const Dims& dims) -> Status {
    if (t >= 0 && plan_->known[static_cast<size_t>(t)]) return Status();
    int32_t root = t;
    while (root >= 0 && program.tensors[static_cast<size_t>(root)].kind == TensorKind::kView)
      root = program.tensors[static_cast<size_t>(root)].view_of;
    const std::optional<Dims> source = root == t ? dims : extents(root);
    if (source && checked_volume(dims.span()).ok() && source->volume() == dims.volume()) return Status();
    return place(invalid_argument(
        "'{}' of shape {} cannot be seen as '{}' of shape {}", program.tensors[static_cast<size_t>(root)].name,
        source ? source->to_string() : "unknown", program.tensors[static_cast<size_t>(t)].name, dims.to_string()));
  };
  std::vector<Dims>& in = late_->in;
  Late::Given& given = late_->given;
  std::vector<const void*>&constants = late_->constants, &inputs = late_->inputs;
  std::vector<size_t>& constant_bytes = late_->constant_bytes;
  in.clear();
  given.clear();
  constants.clear();
  inputs.clear();
  constant_bytes.clear();
  for (int32_t t : step.inputs) {
    const std::optional<Dims> dims = t < 0 ? Dims{} : extents(t);
    if (!dims)
      return place(internal_error("extents of '{}' are unknown", program.tensors[static_cast<size_t>(t)].name));
    WOOTZ_RETURN_IF_ERROR(check_view(t, *dims));
    in.push_back(*dims);
    const PlanTensor* const tensor = t < 0 ? nullptr : &program.tensors[static_cast<size_t>(t)];
    const PlanConstant* const constant = tensor != nullptr && tensor->kind == TensorKind::kConstant
                                             ? &program.constants[static_cast<size_t>(tensor->constant)]
                                             : nullptr;
    inputs.push_back(t < 0 ? nullptr : address_of(t));
    constants.push_back(constant != nullptr ? constant->data : nullptr);  // binding reads them on the host
    constant_bytes.push_back(constant != nullptr ? constant->bytes : 0);
  }
  for (int32_t t : step.outputs) {
    const std::optional<Dims> dims = t < 0 ? std::nullopt : extents(t);
    if (dims)
      if (Result<int64_t> volume = checked_volume(dims->span()); !volume.ok()) return place(volume.status());
    given.dims.push_back(dims.value_or(Dims{}));
    given.sized.push_back(dims.has_value());
    void* address = nullptr;
    if (dims) {
      address = grow(t, *dims);
      if (address == nullptr && dims->volume() != 0)
        return place(make_error(Code::kInvalidState, "no memory was given for output '{}'",
                                program.tensors[static_cast<size_t>(t)].name));
    }
    given.memory.push_back(address);
  }
  std::list<Late::Bound>& bound = late_->bound[s];
  const std::vector<Dims>& out = given.dims;
  const auto seen = std::find_if(bound.begin(), bound.end(), [&](const auto& b) { return b.in == in && b.out == out; });
  if (seen != bound.end()) {
    bound.splice(bound.begin(), bound, seen);
  } else {
    Result<std::unique_ptr<Call>> call = engine_->kernel(s).bind({in, out, constants, constant_bytes});
    if (!call.ok()) return place(call.status());
    if (bound.size() >= std::max<size_t>(1, engine_->options().cached_shapes)) bound.pop_back();
    bound.push_front({in, out, std::move(call).value()});
  }
  const Call& call = *bound.front().call;
  if (call.workspace() > plan_->workspace_bytes) {
    workspace = late_->room(&late_->scratch, call.workspace(), stream);
    if (workspace == nullptr)
      return place(make_error(Code::kResourceExhausted, "no scratch memory of {} bytes", call.workspace()));
  }
  LateAllocator<Late::Given> allocator(step, given, grow);
  if (Status status = call.run({inputs.data(), given.memory.data(), workspace, &allocator, stream}); !status.ok())
    return place(status);
  bool learned = false;
  for (size_t o = 0; o < step.outputs.size(); ++o) {
    if (!allocator.set[o]) continue;
    for (const int32_t k : late_->told[s]) {
      const PlanSymbol& symbol = program.symbols[static_cast<size_t>(k)];
      if (symbol.tensor != step.outputs[o] || symbol.axis < 0 || symbol.axis >= allocator.dims[o].rank()) continue;
      late_->symbols[static_cast<size_t>(k)] = allocator.dims[o][static_cast<size_t>(symbol.axis)];
      learned = true;
    }
  }
  if (learned) {
    WOOTZ_RETURN_IF_ERROR(late_->learn(program));
    WOOTZ_RETURN_IF_ERROR(check_shapes(program, late_->shapes));
    for (const int32_t t : plan_->open_shape_tensors) fill_shape_tensor(static_cast<size_t>(t), late_->shapes);
    if (mirror_ != nullptr && plan_->shape_bytes != 0)
      WOOTZ_RETURN_IF_ERROR(engine_->device()
                                .copy(mirror_, shape_memory_.data(), plan_->shape_bytes, stream)
                                .with_prefix("shape tensors"));
  }
  for (size_t o = 0; o < step.outputs.size(); ++o) {
    if (!allocator.set[o]) continue;
    const std::optional<Dims> planned = extents(step.outputs[o]);
    if (planned && !(*planned == allocator.dims[o]))
      return place(invalid_argument("'{}' came out as {}, the plan makes it {}",
                                    program.tensors[static_cast<size_t>(step.outputs[o])].name,
                                    allocator.dims[o].to_string(), planned->to_string()));
  }
  return Status();
}

}  // namespace wootz
