// Shapes, addresses and memory of a context.
#include "api/runtime/context.h"
#include "api/runtime/gpu_allocator.h"
#include "api/runtime/host_stream.h"
#include "api/runtime/tensor_formats.h"
#include "backends/addresses.h"
#include "plan/storage.h"
#include "runtime/report/output_bound.h"

namespace wootz::api {

using ApiDims = nvinfer1::Dims;

namespace {

Result<ApiDims> open_shape(const EngineInfo& info, TensorIndex tensor) {
  WOOTZ_ASSIGN_OR_RETURN(const Dims dims, info.open_shape(tensor));
  return to_api(dims);
}

}  // namespace

Result<const IoInfo*> ContextImpl::input(const char* name) const {
  WOOTZ_ASSIGN_OR_RETURN(const IoInfo* io, info_->get(name));
  if (!io->is_input) return invalid_argument("'{}' is an output", name);
  return io;
}

Result<const IoInfo*> ContextImpl::output(const char* name) const {
  WOOTZ_ASSIGN_OR_RETURN(const IoInfo* io, info_->get(name));
  if (io->is_input) return invalid_argument("'{}' is an input", name);
  return io;
}

void ContextImpl::setName(const char* name) noexcept {
  attempt(reporter_, "IExecutionContext::setName", [&]() -> Status {
    if (name == nullptr) return invalid_argument("the name is null");
    name_ = name;
    return Status();
  });
}

bool ContextImpl::setOptimizationProfileAsync(int32_t profileIndex, cudaStream_t) noexcept {
  return attempt(reporter_, "IExecutionContext::setOptimizationProfileAsync", [&]() -> Status {
    if (profileIndex < 0 || static_cast<size_t>(profileIndex) >= whole_->num_profiles())
      return invalid_argument("there is no profile {}; the engine has {}", profileIndex, whole_->num_profiles());
    const auto profile = static_cast<size_t>(profileIndex);
    const std::lock_guard<std::mutex> lock(run_mutex_);
    WOOTZ_ASSIGN_OR_RETURN(Runner* const runner, runner_of(profile));
    const Runner* const before = std::exchange(runner_, runner);
    info_ = runner->info;
    if (before != runner) runner->bindings.take_addresses(before->bindings);
    ++settings_;
    profile_ = profile;
    WOOTZ_RETURN_IF_ERROR(runner->bindings.set_profile(info_ == whole_ ? profile : 0, profile));
    return reserve_for(profile);
  });
}

bool ContextImpl::setInputShape(const char* tensorName, const ApiDims& dims) noexcept {
  return attempt(reporter_, "IExecutionContext::setInputShape", [&]() -> Status {
    WOOTZ_ASSIGN_OR_RETURN(const IoInfo* io, input(tensorName));
    Result<Dims> extents = from_api(dims, 0);
    if (!extents.ok()) return extents.status().with_prefix(fmt::format("input '{}'", tensorName));
    ++settings_;
    return runner_->bindings.set_input_dims(io->number, *extents);
  });
}

bool ContextImpl::allInputDimensionsSpecified() const noexcept {
  for (size_t i = 0; i < info_->program().inputs.size(); ++i)
    if (!runner_->bindings.input_dims_known(i)) return false;
  return true;
}

bool ContextImpl::all_inputs_specified() const {
  for (size_t i = 0; i < info_->program().inputs.size(); ++i)
    if (!runner_->bindings.input_specified(i)) return false;
  return true;
}

bool ContextImpl::allInputShapesSpecified() const noexcept { return all_inputs_specified(); }

int32_t ContextImpl::inferShapes(int32_t nbMaxNames, const char** tensorNames) noexcept {
  return attempt_or(reporter_, "IExecutionContext::inferShapes", -1, [&]() -> Result<int32_t> {
    if (nbMaxNames < 0 || (nbMaxNames > 0 && tensorNames == nullptr))
      return invalid_argument("{} names to be written to {}", nbMaxNames, tensorNames == nullptr ? "null" : "a list");
    int32_t missing = 0;
    for (const IoInfo& io : info_->ios()) {
      if (!io.is_input || runner_->bindings.input_specified(io.number)) continue;
      if (missing < nbMaxNames) tensorNames[missing] = io.name;
      ++missing;
    }
    if (missing > 0) return missing;
    WOOTZ_RETURN_IF_ERROR(runner_->bindings.resolve_shapes());
    return 0;
  });
}

ApiDims ContextImpl::getTensorShape(const char* tensorName) const noexcept {
  return attempt_or(reporter_, "IExecutionContext::getTensorShape", bad_dims(), [&]() -> Result<ApiDims> {
    WOOTZ_ASSIGN_OR_RETURN(const IoInfo* io, info_->get(tensorName));
    if (io->is_input) {
      if (runner_->bindings.input_dims_known(io->number)) return to_api(runner_->bindings.input_dims(io->number));
      return open_shape(*info_, io->tensor);
    }
    if (!allInputShapesSpecified()) return open_shape(*info_, io->tensor);
    WOOTZ_RETURN_IF_ERROR(runner_->bindings.resolve_shapes());
    const PlanTensor& tensor = info_->program().tensors[io->tensor];
    const ShapePlan& plan = *runner_->bindings.plan();
    if (!plan.known[io->tensor]) {  // what the last inference found, while it is the last word
      const std::unique_lock<std::mutex> lock(run_mutex_, std::try_to_lock);
      if (lock.owns_lock() && found_for_ == settings_ && runner_->executor.plan()->symbols == plan.symbols)
        if (const std::optional<Dims> dims = runner_->executor.dims(io->tensor)) return to_api(*dims);
    }
    return to_api(dims_with_holes(tensor, plan.shapes));
  });
}

ApiDims ContextImpl::getTensorStrides(const char* tensorName) const noexcept {
  const ApiDims dims = getTensorShape(tensorName);
  const IoInfo* io = info_->find(tensorName);
  return io == nullptr ? dims : format_strides(format_of(*info_, *io), dims);
}

int64_t ContextImpl::getMaxOutputSize(const char* tensorName) const noexcept {
  return attempt_or(reporter_, "IExecutionContext::getMaxOutputSize", int64_t{-1}, [&]() -> Result<int64_t> {
    WOOTZ_ASSIGN_OR_RETURN(const IoInfo* io, output(tensorName));
    const ApiDims dims = getTensorShape(tensorName);
    Result<Dims> extents = from_api(dims, 0);
    // What the last inference found is no bound for the next one.
    const ShapePlan* const plan = shape_plan();
    if (extents.ok() && (plan == nullptr || plan->known[io->tensor]))
      return static_cast<int64_t>(tensor_bytes(info_->program().tensors[io->tensor], *extents));
    const std::optional<int64_t> bound =
        plan == nullptr ? std::nullopt
                        : output_bound(info_->program(), io->tensor, runner_->bindings.profile(), plan->symbols);
    if (!bound)
      return make_error(
          Code::kInvalidState,
          "the shape of output '{}' is not known, nor what bounds it: {}; set all input shapes, or give it "
          "an output allocator",
          tensorName, to_string(dims));
    return *bound;
  });
}

const void* ContextImpl::address_of(const IoInfo& io) const {
  return io.is_input ? runner_->bindings.input_address(io.number) : runner_->bindings.output_address(io.number);
}

// An address is looked at when it changes, not in every inference.
Status ContextImpl::set_address(const IoInfo& io, const void* address) {
  if (address != address_of(io)) {
    const Status usable =
        io.shape_tensor ? check_host_address(address) : check_address(info_->core_ptr()->device(), address);
    if (!usable.ok()) return usable.with_prefix(fmt::format("{} '{}'", io.is_input ? "input" : "output", io.name));
  }
  ++settings_;
  if (io.is_input)
    runner_->bindings.set_input_address(io.number, address);
  else
    runner_->bindings.set_output_address(io.number, const_cast<void*>(address));
  return Status();
}

bool ContextImpl::setTensorAddress(const char* tensorName, void* data) noexcept {
  return attempt(reporter_, "IExecutionContext::setTensorAddress", [&]() -> Status {
    WOOTZ_ASSIGN_OR_RETURN(const IoInfo* io, info_->get(tensorName));
    return set_address(*io, data);
  });
}

const void* ContextImpl::getTensorAddress(const char* tensorName) const noexcept {
  return attempt_or<const void*>(reporter_, "IExecutionContext::getTensorAddress", nullptr,
                                 [&]() -> Result<const void*> {
                                   WOOTZ_ASSIGN_OR_RETURN(const IoInfo* io, info_->get(tensorName));
                                   return address_of(*io);
                                 });
}

bool ContextImpl::setOutputTensorAddress(const char* tensorName, void* data) noexcept {
  return attempt(reporter_, "IExecutionContext::setOutputTensorAddress", [&]() -> Status {
    WOOTZ_ASSIGN_OR_RETURN(const IoInfo* io, output(tensorName));
    return set_address(*io, data);
  });
}

bool ContextImpl::setInputTensorAddress(const char* tensorName, const void* data) noexcept {
  return attempt(reporter_, "IExecutionContext::setInputTensorAddress", [&]() -> Status {
    WOOTZ_ASSIGN_OR_RETURN(const IoInfo* io, input(tensorName));
    return set_address(*io, data);
  });
}

void* ContextImpl::getOutputTensorAddress(const char* tensorName) const noexcept {
  return attempt_or<void*>(reporter_, "IExecutionContext::getOutputTensorAddress", nullptr, [&]() -> Result<void*> {
    WOOTZ_ASSIGN_OR_RETURN(const IoInfo* io, output(tensorName));
    return runner_->bindings.output_address(io->number);
  });
}

bool ContextImpl::setOutputAllocator(const char* tensorName, nvinfer1::IOutputAllocator* outputAllocator) noexcept {
  return attempt(reporter_, "IExecutionContext::setOutputAllocator", [&]() -> Status {
    WOOTZ_ASSIGN_OR_RETURN(const IoInfo* io, output(tensorName));
    ++settings_;
    const Sink* const before = sink(runner_->bindings, io->number);
    if (before != nullptr && before->allocator() == outputAllocator) return Status();
    runner_->bindings.set_output_sink(
        io->number, outputAllocator == nullptr ? nullptr : std::make_shared<Sink>(*this, io->name, outputAllocator));
    return Status();
  });
}

nvinfer1::IOutputAllocator* ContextImpl::getOutputAllocator(const char* tensorName) const noexcept {
  return attempt_or<nvinfer1::IOutputAllocator*>(reporter_, "IExecutionContext::getOutputAllocator", nullptr,
                                                 [&]() -> Result<nvinfer1::IOutputAllocator*> {
                                                   WOOTZ_ASSIGN_OR_RETURN(const IoInfo* io, output(tensorName));
                                                   const Sink* const to = sink(runner_->bindings, io->number);
                                                   return to == nullptr ? nullptr : to->allocator();
                                                 });
}

void ContextImpl::setDeviceMemoryV2(void* memory, int64_t size) noexcept {
  attempt(reporter_, "IExecutionContext::setDeviceMemoryV2", [&]() -> Status {
    if (config_.getExecutionContextAllocationStrategy() != nvinfer1::ExecutionContextAllocationStrategy::kUSER_MANAGED)
      return make_error(Code::kInvalidState, "the context was created with memory of its own");
    if (size < 0) return invalid_argument("size {}", size);
    if (reinterpret_cast<uintptr_t>(memory) % 64 != 0)
      return invalid_argument("the memory at {} is not aligned to 64 bytes", memory);
    if (memory != runner_->bindings.memory())
      if (const Status usable = check_address(info_->core_ptr()->device(), memory); !usable.ok())
        return usable.with_prefix("the context's device memory");
    runner_->bindings.set_memory(memory, static_cast<size_t>(size));
    return Status();
  });
}

void ContextImpl::setDeviceMemory(void* memory) noexcept { setDeviceMemoryV2(memory, INT64_MAX); }

size_t ContextImpl::updateDeviceMemorySizeForShapes() noexcept {
  return attempt_or(reporter_, "IExecutionContext::updateDeviceMemorySizeForShapes", size_t{0},
                    [&]() -> Result<size_t> {
                      if (!allInputShapesSpecified())
                        return make_error(Code::kInvalidState, "not all input shapes are set");
                      WOOTZ_RETURN_IF_ERROR(runner_->bindings.resolve_shapes());
                      return runner_->bindings.plan()->total_bytes();
                    });
}

bool ContextImpl::setTemporaryStorageAllocator(nvinfer1::IGpuAllocator* allocator) noexcept {
  return attempt(reporter_, "IExecutionContext::setTemporaryStorageAllocator", [&]() -> Status {
    if (allocator == temporary_allocator_) return Status();
    const std::lock_guard<std::mutex> lock(run_mutex_);
    if (adopted_ != nullptr) WOOTZ_RETURN_IF_ERROR(adopted_->synchronize());  // it may be at work in what is given back
    const std::shared_ptr<Device>& device = info_->core_ptr()->device_ptr();
    for (const std::unique_ptr<Runner>& runner : runners_)
      runner->executor.set_temporary(allocator == nullptr ? nullptr
                                                          : with_allocator(device, adopt_allocator(allocator)));
    temporary_allocator_ = allocator;
    return Status();
  });
}

void ContextImpl::setPersistentCacheLimit(size_t size) noexcept {
  attempt(reporter_, "IExecutionContext::setPersistentCacheLimit", [&]() -> Status {
    const size_t most = info_->core().device().persisting_cache();
    if (size > most)
      return invalid_argument("{} bytes: {}", size,
                              most == 0 ? "this device's cache has no part for accesses that persist"
                                        : fmt::format("of the device's cache at most {} can be set aside", most));
    const std::lock_guard<std::mutex> lock(run_mutex_);
    persistent_cache_ = size;
    for (const std::unique_ptr<Runner>& runner : runners_) runner->executor.set_persisting(size);
    return Status();
  });
}

bool ContextImpl::setNvtxVerbosity(nvinfer1::ProfilingVerbosity verbosity) noexcept {
  return attempt(reporter_, "IExecutionContext::setNvtxVerbosity", [&]() -> Status {
    const auto number = static_cast<int32_t>(verbosity);
    if (number < 0 || number >= nvinfer1::EnumMax<nvinfer1::ProfilingVerbosity>())
      return invalid_argument("unknown verbosity {}", number);
    const auto built = static_cast<nvinfer1::ProfilingVerbosity>(info_->property_int(property::kVerbosity, 0));
    if (ranges_of(verbosity) > ranges_of(built))
      return invalid_argument("verbosity {} is more than the engine was built with ({})", static_cast<int>(verbosity),
                              static_cast<int>(built));
    const std::lock_guard<std::mutex> lock(run_mutex_);
    for (const std::unique_ptr<Runner>& runner : runners_) runner->executor.set_ranges(ranges_of(verbosity));
    nvtx_verbosity_ = verbosity;
    return Status();
  });
}

bool ContextImpl::setCommunicator(void* communicator) noexcept {
  return communicator == nullptr || attempt(reporter_, "IExecutionContext::setCommunicator", [] {
           return unsupported("no engine of this library works across devices");
         });
}

}  // namespace wootz::api
