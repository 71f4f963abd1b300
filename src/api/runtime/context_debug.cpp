// Debug tensors of a context: which are watched, and how their values reach the listener.
#include <algorithm>

#include "api/runtime/context.h"
#include "backend/relayout.h"
#include "plan/storage.h"
#include "runtime/report/value_map.h"

namespace wootz::api {
namespace {

// Memory of a device for as long as a listener looks at it.
class Shown {
 public:
  Shown(Device& device, size_t bytes) : device_(device), memory_(device.allocate(bytes, 64)) {}
  ~Shown() {
    if (memory_.ok()) device_.free(*memory_);
  }
  Shown(const Shown&) = delete;
  Shown& operator=(const Shown&) = delete;
  const Result<void*>& memory() const { return memory_; }

 private:
  Device& device_;
  Result<void*> memory_;
};

}  // namespace

// Hands a tensor to the listener, row-major, at an address of the engine's device.
Status ContextImpl::show(const char* name, const PlanTensor& tensor, const void* data, const Dims& dims,
                         cudaStream_t stream) const {
  if (listener_ == nullptr) return Status();
  const auto hand_over = [&](const void* values) {
    bool go_on = false;
    try {
      go_on = listener_->processDebugTensor(values, nvinfer1::TensorLocation::kDEVICE, to_api(tensor.dtype),
                                            to_api(dims), name, stream);
    } catch (...) {
      return current_exception_status().with_prefix(fmt::format("the debug listener, at '{}'", name));
    }
    return go_on ? Status() : make_error(Code::kCancelled, "the debug listener ended the inference at '{}'", name);
  };
  if (tensor.layout == Layout::kLinear || dims.rank() < 3) return hand_over(data);
  Device& device = info_->core_ptr()->device();
  std::vector<std::byte> packed;
  if (!device.host_memory()) {
    packed.resize(layout_bytes(tensor.layout, tensor.dtype, dims));
    WOOTZ_RETURN_IF_ERROR(device.copy(packed.data(), data, packed.size(), nullptr));
    data = packed.data();
  }
  WOOTZ_ASSIGN_OR_RETURN(HostTensor linear, HostTensor::allocate(tensor.dtype, dims));
  WOOTZ_RETURN_IF_ERROR(
      move_to_layout(data, tensor.layout, linear.mutable_data(), Layout::kLinear, tensor.dtype, dims));
  if (device.host_memory()) return hand_over(linear.data());
  const Shown shown(device, linear.bytes());
  if (!shown.memory().ok()) return shown.memory().status().with_prefix(fmt::format("to show '{}'", name));
  WOOTZ_RETURN_IF_ERROR(device.copy(*shown.memory(), linear.data(), linear.bytes(), nullptr));
  return hand_over(*shown.memory());
}

void ContextImpl::set_tap(const Job& job) {
  Runner& runner = *job.runner;
  if (job.taps.empty()) {
    if (runner.tapped) runner.executor.set_tap({}, nullptr);
    runner.tapped = false;
    return;
  }
  runner.tapped = true;
  runner.executor.set_tap(job.taps, [this, &job](TensorIndex t, const void* data, const Dims& dims) -> Status {
    const PlanTensor& tensor = job.runner->info->program().tensors[t];
    if (std::find(job.marked.begin(), job.marked.end(), t) != job.marked.end())
      WOOTZ_RETURN_IF_ERROR(show(tensor.name.c_str(), tensor, data, dims, job.stream));
    for (const Tap& tap : job.named)
      if (tap.tensor == t) WOOTZ_RETURN_IF_ERROR(show(tap.name.c_str(), tensor, data, dims, job.stream));
    return Status();
  });
}

// Values that no step writes: inputs, constants, and what is worked out with the shapes.
Status ContextImpl::show_unwritten(const Job& job) {
  const Executor& executor = job.runner->executor;
  const IndexedVector<TensorIndex, PlanTensor>& tensors = job.runner->info->program().tensors;
  bool waited = false;
  for (const Tap& tap : job.named) {
    if (tap.written) continue;
    const std::optional<Dims> dims = executor.dims(tap.tensor);
    if (!dims) continue;
    if (adopted_ != nullptr && !waited) WOOTZ_RETURN_IF_ERROR(adopted_->synchronize());
    waited = true;
    WOOTZ_RETURN_IF_ERROR(show(tap.name.c_str(), tensors[tap.tensor], executor.data(tap.tensor), *dims, job.stream));
  }
  return Status();
}

// The plan says of the whole program where the model's values are; other programs have tensors of the same names.
Result<ContextImpl::Tap> ContextImpl::find_tap(const EngineInfo& whole, const EngineInfo& info, const char* name) {
  Tap tap;
  tap.name = name;
  WOOTZ_ASSIGN_OR_RETURN(tap.tensor, ValueMap(whole.program()).find(name));
  const Program& program = info.program();
  if (&info != &whole) {
    const std::string& held = whole.program().tensors[tap.tensor].name;
    const auto same = [&](const PlanTensor& tensor) { return tensor.name == held; };
    const auto found = std::find_if(program.tensors.begin(), program.tensors.end(), same);
    if (found == program.tensors.end())
      return make_error(Code::kInvalidState, "the tactics of this profile keep '{}' in no tensor", name);
    tap.tensor = TensorIndex(found - program.tensors.begin());
  }
  for (const TensorIndex t : written_tensors(program, tap.tensor)) {
    const TensorKind kind = program.tensors[t].kind;
    tap.written = kind == TensorKind::kIntermediate || kind == TensorKind::kSubview || kind == TensorKind::kOutput;
  }
  if (tap.written && !completing_steps(program)[tap.tensor].exists())
    return make_error(Code::kCorrupt, "the plan says that '{}' is in '{}', which no step writes", name,
                      program.tensors[tap.tensor].name);
  return tap;
}

Status ContextImpl::tap(const char* name, bool on) {
  if (name == nullptr) return invalid_argument("the name is null");
  if (!on) {
    for (const std::unique_ptr<Runner>& runner : runners_)
      if (const auto found = runner->taps.find(std::string_view(name)); found != runner->taps.end())
        runner->taps.erase(found);
    return Status();
  }
  std::vector<Tap> taps;
  for (const std::unique_ptr<Runner>& runner : runners_) {
    WOOTZ_ASSIGN_OR_RETURN(taps.emplace_back(), find_tap(*whole_, *runner->info, name));
  }
  for (size_t r = 0; r < taps.size(); ++r) runners_[r]->taps.insert_or_assign(name, std::move(taps[r]));
  return Status();
}

bool ContextImpl::setDebugListener(nvinfer1::IDebugListener* listener) noexcept {
  listener_ = listener;
  return true;
}

bool ContextImpl::setTensorDebugState(const char* name, bool flag) noexcept {
  return attempt(reporter_, "IExecutionContext::setTensorDebugState", [&]() -> Status {
    const auto found = whole_->debug_tensors().find(std::string_view(name == nullptr ? "" : name));
    if (found == whole_->debug_tensors().end())
      return invalid_argument("'{}' was not marked as a debug tensor", name == nullptr ? "" : name);
    flag ? void(debug_on_.insert(found->first)) : void(debug_on_.erase(found->first));
    return Status();
  });
}

bool ContextImpl::getDebugState(const char* name) const noexcept {
  const auto found = whole_->debug_tensors().find(std::string_view(name == nullptr ? "" : name));
  return found != whole_->debug_tensors().end() && debug_on_.count(found->first) != 0;
}

bool ContextImpl::setAllTensorsDebugState(bool flag) noexcept {
  debug_on_.clear();
  for (const auto& [name, tensor] : whole_->debug_tensors())
    if (flag) debug_on_.insert(name);
  return true;
}

bool ContextImpl::setUnfusedTensorsDebugState(bool flag) noexcept {
  return attempt(reporter_, "IExecutionContext::setUnfusedTensorsDebugState", [&]() -> Status {
    if (flag && !whole_->debug_unfused())
      return make_error(Code::kInvalidState, "the network was built without markUnfusedTensorsAsDebugTensors");
    unfused_debug_ = flag;
    return Status();
  });
}

}  // namespace wootz::api
