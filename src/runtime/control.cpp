#include "runtime/control.h"

#include <algorithm>
#include <cstring>

#include "runtime/control_frame.h"

namespace wootz {
namespace {

using Engines = std::vector<std::shared_ptr<const EngineCore>>;

Dims without(const Dims& dims, size_t axis) {
  Dims less;
  for (size_t a = 0; a < dims.size(); ++a)
    if (a != axis) less.push_back(dims[a]);
  return less;
}
Dims with(const Dims& dims, size_t axis, int64_t extent) {
  Dims more;
  for (size_t a = 0; a <= dims.size(); ++a) {
    if (a == axis) more.push_back(extent);
    if (a < dims.size()) more.push_back(dims[a]);
  }
  return more;
}
int64_t volume_of(const Dims& dims, size_t begin, size_t end) {
  int64_t volume = 1;
  for (size_t a = begin; a < end; ++a) volume *= dims[a];
  return volume;
}

// What one context runs the bodies in, made by the first run: what bodies keep from run to run (how often random
// numbers were drawn, say) is the context's own.
struct ControlState final : KernelState {
  explicit ControlState(std::shared_ptr<Device> of) : device(std::move(of)) {}
  std::shared_ptr<Device> device;  // outlives the frame's buffers
  std::unique_ptr<ControlFrame> frame;
};

struct Bound {
  const ControlForm& form;
  const Problem& problem;
  std::vector<Dims> in, out;
};

// One run.
class Course {
 public:
  Course(const Bound& bound, const RunArgs& args, ControlFrame& frame)
      : form_(bound.form), bound_(bound), args_(args), frame_(frame) {}

  Status run() {
    if (form_.op == ControlForm::Op::kIf) return run_if();
    stacked_.resize(bound_.out.size() - form_.states);
    for (size_t s = 0; s < form_.states; ++s) {
      const size_t i = first_state() + s;
      frame_.carried[s] = {args_.inputs[i], bound_.in[i]};
    }
    WOOTZ_RETURN_IF_ERROR(form_.op == ControlForm::Op::kLoop ? run_loop() : run_scan());
    for (size_t s = 0; s < form_.states; ++s) WOOTZ_RETURN_IF_ERROR(give_state(s));
    for (size_t k = 0; k < stacked_.size(); ++k) WOOTZ_RETURN_IF_ERROR(give_stacked(k));
    return {};
  }

 private:
  struct Stacked {
    bool any = false;
    Dims element;
    size_t bytes = 0;               // of an element
    std::byte* straight = nullptr;  // the result itself, where elements can be written in their places
  };

  size_t first_state() const { return form_.op == ControlForm::Op::kLoop ? 2 : 0; }
  DType type_of(size_t result) const { return bound_.problem.outputs[result].dtype; }
  bool wanted(size_t result) const { return type_of(result) != DType::kInvalid; }

  // The memory of one of the step's results.
  Result<void*> place(size_t result, const Dims& dims) {
    WOOTZ_ASSIGN_OR_RETURN(const int64_t volume, checked_volume(dims.span()));
    if (dims.rank() != bound_.problem.outputs[result].dims.rank())
      return invalid_argument("result {} came out as {}, of rank {} it was planned", result, dims.to_string(),
                              bound_.problem.outputs[result].dims.rank());
    if (args_.allocator == nullptr && !(dims == bound_.out[result]))
      return invalid_argument("result {} came out as {}, {} was planned", result, dims.to_string(),
                              bound_.out[result].to_string());
    void* const to =
        args_.allocator == nullptr ? args_.outputs[result] : args_.allocator->allocate(static_cast<int>(result), dims);
    if (to == nullptr && volume != 0)
      return make_error(Code::kResourceExhausted, "no memory for result {} of shape {}", result, dims.to_string());
    return to;
  }

  Status run_if() {
    const bool taken = *static_cast<const uint8_t*>(args_.inputs[0]) != 0;
    BodyRun& body = *frame_.bodies[taken ? 0 : 1];
    const std::vector<int32_t>& operands = form_.bodies[taken ? 0 : 1].operands;
    for (size_t k = 0; k < operands.size(); ++k) {
      const auto i = static_cast<size_t>(operands[k]);
      WOOTZ_RETURN_IF_ERROR(body.set_input(k, args_.inputs[i], bound_.in[i]));
    }
    return body.run([&](size_t output, size_t bytes, const Dims& dims) -> void* {
      if (!wanted(output)) return spare(output, bytes);
      Result<void*> to = place(output, dims);
      return to.ok() ? *to : body.fail(to.status());
    });
  }
  // A result that no step reads is still written.
  void* spare(size_t result, size_t bytes) {
    if (frame_.stacks.size() <= result) return nullptr;
    return frame_.stacks[result].room(bytes);
  }

  Status run_loop() {
    const void *const trips = args_.inputs[0], *const condition = args_.inputs[1];
    const int64_t most = trips == nullptr ? INT64_MAX : *static_cast<const int64_t*>(trips);
    frame_.going[1] = condition == nullptr || *static_cast<const uint8_t*>(condition) != 0 ? 1 : 0;
    rounds_ = 0;
    exact_ = -1;
    for (; frame_.going[1] != 0 && rounds_ < most; ++rounds_) {
      if (rounds_ >= limits::kMaxLoopTrips)
        return make_error(Code::kResourceExhausted, "the loop still goes on after {} rounds, the limit",
                          limits::kMaxLoopTrips);
      frame_.going[0] = frame_.going[1];
      WOOTZ_RETURN_IF_ERROR(run_round());
    }
    return {};
  }

  Status run_scan() {
    for (size_t k = 0; k < form_.scans; ++k) {
      const Dims& dims = bound_.in[form_.states + k];
      const int64_t length = dims[static_cast<size_t>(form_.input_axes[k])];
      if (k > 0 && length != exact_) return invalid_argument("sequences of lengths {} and {}", exact_, length);
      exact_ = length;
    }
    for (rounds_ = 0; rounds_ < exact_; ++rounds_) WOOTZ_RETURN_IF_ERROR(run_round());
    return {};
  }

  Status set_inputs(BodyRun& body) {
    const std::vector<int32_t>& operands = form_.bodies[0].operands;
    const bool loop = form_.op == ControlForm::Op::kLoop;
    frame_.round = rounds_;
    for (size_t k = 0; k < operands.size(); ++k) {
      const auto i = static_cast<size_t>(operands[k]);
      if (loop && i < 2) {
        Bindings& bindings = body.bindings();
        bindings.set_input_address(k, i == 0 ? static_cast<const void*>(&frame_.round) : &frame_.going[0]);
        if (!bindings.input_dims_known(k)) WOOTZ_RETURN_IF_ERROR(bindings.set_input_dims(k, {1}));
        if (const Dims& dims = bindings.input_dims(k); dims.volume() != 1)
          return invalid_argument("the body takes a {} of shape {}", i == 0 ? "round" : "condition", dims.to_string());
      } else if (i >= first_state() && i < first_state() + form_.states) {
        const Carried& state = frame_.carried[i - first_state()];
        WOOTZ_RETURN_IF_ERROR(body.set_input(k, state.data, state.dims));
      } else if (!loop && i < form_.states + form_.scans) {
        WOOTZ_RETURN_IF_ERROR(set_element(body, k, i));
      } else {
        WOOTZ_RETURN_IF_ERROR(body.set_input(k, args_.inputs[i], bound_.in[i]));
      }
    }
    return {};
  }

  // The element of a sequence that this round reads: where it lies, or put together.
  Status set_element(BodyRun& body, size_t input, size_t operand) {
    const size_t scan = operand - form_.states;
    const auto axis = static_cast<size_t>(form_.input_axes[scan]);
    const Dims& dims = bound_.in[operand];
    const Dims element = without(dims, axis);
    const int64_t at = form_.input_reversed[scan] != 0 ? exact_ - 1 - rounds_ : rounds_;
    const DType type = bound_.problem.inputs[operand].dtype;
    const auto* from = static_cast<const std::byte*>(args_.inputs[operand]);
    const size_t inner = dtype_bytes(type, volume_of(dims, axis + 1, dims.size()));
    const auto outer = static_cast<size_t>(volume_of(dims, 0, axis));
    if (outer == 1 && exact_ > 0) return body.set_input(input, from + static_cast<size_t>(at) * inner, element);
    std::byte* const to = frame_.sequences[scan].room(outer * inner);
    if (to == nullptr)
      return make_error(Code::kResourceExhausted, "no memory for an element of {} bytes", outer * inner);
    for (size_t o = 0; o < outer && exact_ > 0; ++o)
      std::memcpy(to + o * inner, from + (o * static_cast<size_t>(exact_) + static_cast<size_t>(at)) * inner, inner);
    return body.set_input(input, to, element);
  }

  Status run_round() {
    BodyRun& body = *frame_.bodies[0];
    WOOTZ_RETURN_IF_ERROR(set_inputs(body));
    const size_t first = form_.first_result();
    std::vector<GrowingBuffer>& next = frame_.states[rounds_ % 2];
    next_.resize(form_.states);
    WOOTZ_RETURN_IF_ERROR(body.run([&](size_t output, size_t bytes, const Dims& dims) -> void* {
      if (output < first) {
        if (dims.volume() == 1) return &frame_.going[1];
        return body.fail(invalid_argument("the body gives a condition of shape {}", dims.to_string()));
      }
      const size_t result = output - first;
      if (result >= form_.states) return place_element(body, result - form_.states, bytes, dims);
      next_[result] = {next[result].room(bytes), dims};
      return const_cast<void*>(next_[result].data);
    }));
    frame_.carried.swap(next_);
    return {};
  }

  size_t axis_of(size_t k) const {
    return form_.op == ControlForm::Op::kScan ? static_cast<size_t>(form_.output_axes[k]) : 0;
  }
  int64_t slot_of(size_t k, int64_t round) const {
    return form_.op == ControlForm::Op::kScan && form_.output_reversed[k] != 0 ? rounds_total() - 1 - round : round;
  }
  int64_t rounds_total() const { return exact_ >= 0 ? exact_ : rounds_; }

  void* place_element(BodyRun& body, size_t k, size_t bytes, const Dims& dims) {
    Stacked& stack = stacked_[k];
    if (!stack.any) {
      stack.any = true;
      stack.element = dims;
      stack.bytes = bytes;
      if (exact_ >= 0 && axis_of(k) == 0 && wanted(form_.states + k)) {
        Result<void*> to = dims.rank() < limits::kMaxRank ? place(form_.states + k, with(dims, 0, exact_))
                                                          : Result<void*>(too_many_axes(dims));
        if (!to.ok()) return body.fail(to.status());
        stack.straight = static_cast<std::byte*>(*to);
      }
    }
    if (!(dims == stack.element))
      return body.fail(invalid_argument("elements of shapes {} and {} cannot be stacked", stack.element.to_string(),
                                        dims.to_string()));
    if (stack.straight != nullptr) return stack.straight + static_cast<size_t>(slot_of(k, rounds_)) * bytes;
    const size_t before = static_cast<size_t>(rounds_) * bytes;
    std::byte* const to = frame_.stacks[k].extend(before + bytes, before);
    if (to == nullptr)
      return body.fail(
          make_error(Code::kResourceExhausted, "no memory for {} elements of {} bytes", rounds_ + 1, bytes));
    return to + before;
  }
  static Status too_many_axes(const Dims& dims) {
    return invalid_argument("stacking {} passes the limit of {} axes", dims.to_string(), limits::kMaxRank);
  }

  Status give_state(size_t s) {
    if (!wanted(s)) return {};
    const Carried& state = frame_.carried[s];
    WOOTZ_ASSIGN_OR_RETURN(void* const to, place(s, state.dims));
    const size_t bytes = dtype_bytes(type_of(s), state.dims.volume());
    if (bytes != 0) std::memcpy(to, state.data, bytes);
    return {};
  }

  Status give_stacked(size_t k) {
    const size_t result = form_.states + k;
    Stacked& stack = stacked_[k];
    if (stack.straight != nullptr || !wanted(result)) return {};
    if (!stack.any) {
      BodyRun& body = *frame_.bodies[0];
      WOOTZ_RETURN_IF_ERROR(set_inputs(body));
      WOOTZ_ASSIGN_OR_RETURN(stack.element, body.dims_of_none(result + form_.first_result()));
    }
    if (stack.element.rank() >= limits::kMaxRank) return too_many_axes(stack.element);
    const size_t axis = axis_of(k);
    WOOTZ_ASSIGN_OR_RETURN(void* const memory, place(result, with(stack.element, axis, rounds_)));
    auto* const to = static_cast<std::byte*>(memory);
    const size_t inner = dtype_bytes(type_of(result), volume_of(stack.element, axis, stack.element.size()));
    const auto outer = static_cast<size_t>(volume_of(stack.element, 0, axis)), count = static_cast<size_t>(rounds_);
    if (inner == 0 || outer == 0) return {};
    for (size_t e = 0; e < count; ++e) {
      const std::byte* const from = frame_.stacks[k].data() + e * stack.bytes;
      const auto slot = static_cast<size_t>(slot_of(k, static_cast<int64_t>(e)));
      for (size_t o = 0; o < outer; ++o) std::memcpy(to + (o * count + slot) * inner, from + o * inner, inner);
    }
    return {};
  }

  const ControlForm& form_;
  const Bound& bound_;
  const RunArgs& args_;
  ControlFrame& frame_;
  std::vector<Stacked> stacked_;
  std::vector<Carried> next_;
  int64_t rounds_ = 0;
  int64_t exact_ = -1;  // rounds there will be, when that is certain
};

class ControlKernel;

class ControlCall final : public StatefulCall {
 public:
  ControlCall(const ControlKernel& kernel, const ControlForm& form, const Problem& problem, const BindArgs& args)
      : kernel_(kernel),
        bound_{form, problem, {args.inputs.begin(), args.inputs.end()}, {args.outputs.begin(), args.outputs.end()}} {}
  bool outputs_known() const override { return false; }
  bool recordable() const override { return false; }
  Status run_with(const RunArgs& args, KernelState* kept) const override;

 private:
  const ControlKernel& kernel_;
  Bound bound_;
};

class ControlKernel final : public StatefulKernel {
 public:
  ControlKernel(ControlForm form, Problem problem, Engines engines, std::shared_ptr<Device> device)
      : form_(std::move(form)),
        problem_(std::move(problem)),
        engines_(std::move(engines)),
        device_(std::move(device)) {}
  Result<std::unique_ptr<KernelState>> attach(const ContextServices*) const override {
    return std::unique_ptr<KernelState>(std::make_unique<ControlState>(device_));
  }
  Result<std::unique_ptr<Call>> bind(const BindArgs& args) const override {
    if (args.inputs.size() != problem_.inputs.size() || args.outputs.size() != problem_.outputs.size())
      return internal_error("{} operands bound, {} expected", args.inputs.size(), problem_.inputs.size());
    const size_t scalars = form_.op == ControlForm::Op::kIf ? 1 : form_.op == ControlForm::Op::kLoop ? 2 : 0;
    for (size_t i = 0; i < scalars; ++i)
      if (problem_.inputs[i].dtype != DType::kInvalid && args.inputs[i].volume() != 1)
        return invalid_argument("a condition or trip count of shape {}", args.inputs[i].to_string());
    for (const auto* list : {&problem_.inputs, &problem_.outputs})
      for (const TensorDesc& t : *list)
        if (t.dtype != DType::kInvalid && dtype_bits(t.dtype) % 8 != 0)
          return unsupported("elements of {} in a loop", dtype_name(t.dtype));
    return std::unique_ptr<Call>(std::make_unique<ControlCall>(*this, form_, problem_, args));
  }
  std::unique_ptr<ControlFrame> make_frame() const {
    return std::make_unique<ControlFrame>(engines_, *device_, form_.states, form_.scans,
                                          problem_.outputs.size() - form_.states);
  }

 private:
  ControlForm form_;
  Problem problem_;
  Engines engines_;
  std::shared_ptr<Device> device_;
};

Status ControlCall::run_with(const RunArgs& args, KernelState* kept) const {
  std::unique_ptr<ControlFrame>& frame = static_cast<ControlState*>(kept)->frame;
  if (frame == nullptr) frame = kernel_.make_frame();
  return Course(bound_, args, *frame).run();
}

}  // namespace

Result<std::unique_ptr<Kernel>> make_control_kernel(const Problem& problem, Engines bodies,
                                                    std::shared_ptr<Device> device) {
  if (!device->host_memory())
    return unsupported("bodies of {} on a device with memory of its own", name_of(problem.as<ControlParams>().op));
  WOOTZ_ASSIGN_OR_RETURN(ControlForm form, read_control(problem));
  return std::unique_ptr<Kernel>(
      std::make_unique<ControlKernel>(std::move(form), problem, std::move(bodies), std::move(device)));
}

}  // namespace wootz
