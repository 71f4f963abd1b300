#include "api/tools/engine_run.h"

#include <utility>

#include "api/runtime/made_here.h"
#include "plan/storage.h"
#include "runtime/report/value_map.h"
#include "wootz/extensions.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: speaks to those interfaces throughout

// Memory for an output, which is not read: the listener shows its values.
class EngineRun::Output final : public IOutputAllocator {
 public:
  explicit Output(ICudaEngine& engine) : engine_(engine), on_device_(wootz_engine_on_device(&engine) != 0) {}
  ~Output() override { wootz_device_free(&engine_, on_device_ ? memory_ : nullptr); }
  void* reallocateOutput(const char*, void*, uint64_t size, uint64_t) noexcept override {
    try {
      if (!on_device_) {
        if (bytes_.size() < size + 64) bytes_.resize(size + 64);
        return bytes_.data();
      }
      if (memory_ != nullptr && size <= capacity_) return memory_;
      wootz_device_free(&engine_, std::exchange(memory_, nullptr));
      capacity_ = std::max<uint64_t>(size, 1);
      return memory_ = wootz_device_allocate(&engine_, capacity_);
    } catch (...) {
      return nullptr;
    }
  }
  void notifyShape(const char*, const nvinfer1::Dims&) noexcept override {}

 private:
  ICudaEngine& engine_;
  bool on_device_;
  std::vector<char> bytes_;
  void* memory_ = nullptr;
  uint64_t capacity_ = 0;
};

class EngineRun::Listener final : public IDebugListener {
 public:
  explicit Listener(ICudaEngine& engine) : engine_(engine) {}
  bool processDebugTensor(const void* data, TensorLocation, DataType type, const nvinfer1::Dims& shape,
                          const char* name, cudaStream_t stream) override {
    if (!status.ok() || take == nullptr) return status.ok();
    status = give(data, type, shape, name, stream);
    return status.ok();
  }
  const TakeValue* take = nullptr;
  Status status;

 private:
  Status give(const void* data, DataType type, const nvinfer1::Dims& shape, const char* name, cudaStream_t stream) {
    WOOTZ_ASSIGN_OR_RETURN(const wootz::Dims dims, from_api(shape, 0));
    WOOTZ_ASSIGN_OR_RETURN(HostTensor value, HostTensor::allocate(from_api(type), dims));
    if (value.bytes() > 0 && (wootz_device_wait(&engine_, stream) != 0 ||
                              wootz_device_copy(&engine_, value.mutable_data(), data, value.bytes()) != 0))
      return make_error(Code::kInternal, "'{}' cannot be copied from the device", name);
    return (*take)(name, std::move(value));
  }
  ICudaEngine& engine_;
};

EngineRun::EngineRun(EngineImpl& engine) : engine_(engine) {}

Result<std::unique_ptr<EngineRun>> EngineRun::create(ICudaEngine* engine) {
  auto* ours = made_here<EngineImpl>(engine);
  if (ours == nullptr) return invalid_argument("it is no engine that this library loaded");
  std::unique_ptr<EngineRun> run(new EngineRun(*ours));
  WOOTZ_RETURN_IF_ERROR(run->prepare());
  return run;
}

EngineRun::~EngineRun() {
  context_.reset();
  sinks_.clear();
  for (const auto& [name, memory] : device_memory_) wootz_device_free(&engine_, memory);
}

Status EngineRun::prepare() {
  for (const IoInfo& io : engine_.info()->ios()) (io.is_input ? inputs_ : outputs_).insert(io.name);
  const ValueMap map(engine_.info()->program());
  for (const ValueMap::Entry& value : map.entries())
    if (value.tensor.exists() && inputs_.count(value.name) == 0) values_.insert(value.name);
  if (!map.known()) return invalid_argument("the plan tells no values: it was built with ProfilingVerbosity::kNONE");
  values_.insert(outputs_.begin(), outputs_.end());
  context_.reset(engine_.createExecutionContext(ExecutionContextAllocationStrategy::kSTATIC));
  if (context_ == nullptr) return make_error(Code::kInternal, "its context cannot be made");
  listener_ = std::make_unique<Listener>(engine_);
  context_->setDebugListener(listener_.get());
  for (const std::string& name : outputs_) {
    auto& sink = sinks_[name];
    sink = std::make_unique<Output>(engine_);
    if (!context_->setOutputAllocator(name.c_str(), sink.get()))
      return make_error(Code::kInternal, "output '{}' takes no allocator", name);
  }
  return Status();
}

std::string EngineRun::layer_of(const std::string& value) const {
  const Program& program = engine_.info()->program();
  const Result<TensorIndex> tensor = ValueMap(program).find(value);
  if (!tensor.ok()) return "";
  const StepIndex step = completing_steps(program)[*tensor];
  return step.exists() ? program.steps[step].name : "";
}

Status EngineRun::show(const std::set<std::string>& values, bool on) {
  for (const std::string& name : values)
    if (wootz_context_tap(context_.get(), name.c_str(), on ? 1 : 0) != 0)
      return make_error(Code::kInternal, "value '{}' cannot be read", name);
  return Status();
}

Status EngineRun::set_input(const std::string& name, const HostTensor& array) {
  const DType wanted = from_api(engine_.getTensorDataType(name.c_str()));
  if (array.dtype() != wanted)
    return invalid_argument("it is {}, the engine takes {}", dtype_name(array.dtype()), dtype_name(wanted));
  if (!context_->setInputShape(name.c_str(), to_api(array.dims())))
    return invalid_argument("shape {} is not accepted", array.dims().to_string());
  if (engine_.getTensorFormat(name.c_str()) != TensorFormat::kLINEAR)
    return unsupported("the engine takes it in a format that is not row-major");
  std::vector<char>& host = memory_[name];
  host.assign(array.bytes() + 64, 0);  // never an empty address
  if (array.bytes() > 0) std::memcpy(host.data(), array.data(), array.bytes());
  void* address = host.data();
  if (wootz_engine_on_device(&engine_) != 0 && engine_.getTensorLocation(name.c_str()) == TensorLocation::kDEVICE) {
    void*& memory = device_memory_[name];
    wootz_device_free(&engine_, std::exchange(memory, nullptr));
    address = memory = wootz_device_allocate(&engine_, host.size());
    if (memory == nullptr || wootz_device_copy(&engine_, memory, host.data(), host.size()) != 0)
      return make_error(Code::kResourceExhausted, "no device memory for it");
  }
  if (context_->setTensorAddress(name.c_str(), address)) return Status();
  return make_error(Code::kInternal, "it takes no address");
}

Status EngineRun::run(const Batch& batch, const TakeValue& take) {
  for (const std::string& name : inputs_)
    if (batch.find(name) == batch.end()) return invalid_argument("input '{}' is not given", name);
  for (const auto& [name, array] : batch) {
    if (inputs_.count(name) == 0) return invalid_argument("the engine has no input '{}'", name);
    const Status set = set_input(name, array);
    if (!set.ok()) return set.with_prefix(fmt::format("input '{}'", name));
  }
  listener_->take = &take;
  listener_->status = Status();
  const bool queued = context_->enqueueV3(nullptr);
  const bool done = wootz_device_synchronize(&engine_) == 0;
  listener_->take = nullptr;
  WOOTZ_RETURN_IF_ERROR(listener_->status);
  return queued && done ? Status() : make_error(Code::kInternal, "the inference failed");
}

}  // namespace wootz::api
