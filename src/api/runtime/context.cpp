#include "api/runtime/context.h"

#include <algorithm>
#include <cstdlib>

#include "api/runtime/host_stream.h"
#include "api/runtime/hostcuda.h"
#include "backends/addresses.h"

namespace wootz::api {

using nvinfer1::ExecutionContextAllocationStrategy;

ContextImpl::ContextImpl(const nvinfer1::ICudaEngine& engine, std::shared_ptr<const EngineInfo> info,
                         const Reporter& reporter, ExecutionContextAllocationStrategy strategy)
    : engine_(engine),
      info_(std::move(info)),
      reporter_(reporter),
      on_device_(!info_->core().device().host_memory()),
      bindings_(info_->core_ptr()),
      executor_(info_->core_ptr()),
      nvtx_verbosity_(engine.getProfilingVerbosity()) {
  const Program& program = info_->program();
  if (strategy == ExecutionContextAllocationStrategy::kUSER_MANAGED) bindings_.require_memory();
  step_ms_.assign(program.steps.size(), 0);
  debug_on_.assign(program.tensors.size(), 0);
  const char* const wait = std::getenv("WOOTZ_DEBUG_SYNC");
  debug_sync_ = wait != nullptr ? std::string_view(wait) == "1" : info_->property_int(property::kDebugSync, 0) == 1;
  executor_.set_ranges(ranges_of(nvtx_verbosity_));
  config_.setExecutionContextAllocationStrategy(strategy);
  find_hostcuda();
}

ContextImpl::~ContextImpl() noexcept {
  wait_idle();
  if (owner_ == nullptr) return;
  const std::lock_guard<std::mutex> lock(owner_->mutex);
  owner_->context = nullptr;
}

Result<std::unique_ptr<ContextImpl>> ContextImpl::create(const nvinfer1::ICudaEngine& engine,
                                                         std::shared_ptr<const EngineInfo> info,
                                                         const Reporter& reporter,
                                                         ExecutionContextAllocationStrategy strategy,
                                                         nvinfer1::IGpuAllocator* allocator) {
  const auto number = static_cast<int32_t>(strategy);
  if (number < 0 || number >= nvinfer1::EnumMax<ExecutionContextAllocationStrategy>())
    return invalid_argument("unknown allocation strategy {}", number);
  std::unique_ptr<ContextImpl> context(new ContextImpl(engine, std::move(info), reporter, strategy));
  context->services_.allocator = allocator;
  context->services_.recorder = context->reporter_.recorder();
  context->services_.logger = {context->reporter_.logger(), context->reporter_.level()};
  WOOTZ_RETURN_IF_ERROR(context->executor_.attach(&context->services_));
  WOOTZ_RETURN_IF_ERROR(context->reserve_for(0));
  const bool own = strategy != ExecutionContextAllocationStrategy::kUSER_MANAGED;
  const bool all = strategy == ExecutionContextAllocationStrategy::kSTATIC;
  const size_t bytes = all ? context->info_->largest_memory() : own ? context->info_->memory(0) : 0;
  context->held_.hold(context->reporter_, "IExecutionContext creation", context->on_device_, bytes);
  return context;
}

Status ContextImpl::reserve_for(size_t profile) {
  const size_t weights = static_cast<size_t>(engine_.getWeightStreamingScratchMemorySize());
  switch (config_.getExecutionContextAllocationStrategy()) {
    case ExecutionContextAllocationStrategy::kSTATIC: return executor_.reserve(info_->largest_memory() + weights);
    case ExecutionContextAllocationStrategy::kON_PROFILE_CHANGE:
      return executor_.reserve(info_->memory(profile) + weights);
    case ExecutionContextAllocationStrategy::kUSER_MANAGED: break;
  }
  return Status();
}

void ContextImpl::wait_idle() {
  std::unique_lock<std::mutex> lock(pending_mutex_);
  idle_.wait(lock, [this] { return pending_ == 0; });
}

void ContextImpl::fill_job(cudaStream_t stream, Job* job) const {
  job->taps.clear();
  job->named.clear();
  if (listener_ != nullptr) {
    const Program& program = info_->program();
    for (const TensorIndex t : debug_on_.indices())
      if (debug_on_[t] || (unfused_debug_ && program.tensors[t].kind == TensorKind::kIntermediate))
        job->taps.push_back(t);
    for (const auto& [name, tap] : taps_) {
      const bool watched = std::find(job->taps.begin(), job->taps.end(), tap.tensor) != job->taps.end();
      if (tap.written && !watched) job->taps.push_back(tap.tensor);
      job->named.push_back(tap);
    }
  }
  job->profile_steps = profiler_.object != nullptr;
  job->wait_for_steps = debug_sync_;
  job->stream = stream;
  job->settings = settings_;
}

Status ContextImpl::adopt(cudaStream_t stream) {
  if (adopted_ != nullptr && adopted_handle_ == stream) return Status();
  if (is_host_stream(stream))
    return invalid_argument(
        "the stream is one of wootz_stream_create, for CPU engines: this engine takes a cudaStream_t");
  WOOTZ_ASSIGN_OR_RETURN(adopted_, info_->core_ptr()->device().adopt_stream(stream));
  adopted_handle_ = stream;
  return Status();
}

void ContextImpl::observe_steps(bool on) {
  if (on == observed_) return;
  observed_ = on;
  if (on_device_) return executor_.set_timed(on);
  executor_.set_observer(
      on ? StepObserver([this](size_t step, double us) { step_ms_[step] = static_cast<float>(us * 1e-3); })
         : StepObserver());
}

// Tells the allocators what shapes came out.
Status ContextImpl::finish_outputs(const Status& ran, const Bindings& bindings) {
  const size_t outputs = bindings.any_sink() ? info_->program().outputs.size() : 0;
  Status refused;
  for (size_t o = 0; o < outputs; ++o)
    if (Sink* const to = sink(bindings, o))
      if (Status why = to->take_refusal(); refused.ok()) refused = std::move(why);
  WOOTZ_RETURN_IF_ERROR(refused);
  WOOTZ_RETURN_IF_ERROR(ran);
  for (size_t o = 0; o < outputs; ++o)
    if (const Sink* const to = sink(bindings, o))
      if (const std::optional<Dims> dims = executor_.dims(info_->program().outputs[o].tensor)) to->notify(*dims);
  return Status();
}

// An inference. Who calls it sees to it that no other is at work.
Status ContextImpl::run_now(const Job& job, Bindings& bindings) {
  found_for_ = 0;
  running_in_ = services_.stream = job.stream;
  observe_steps(job.profile_steps);
  executor_.set_wait_for_steps(job.wait_for_steps);
  set_tap(job);
  WOOTZ_RETURN_IF_ERROR(finish_outputs(executor_.run(bindings, adopted_.get()), bindings));
  WOOTZ_RETURN_IF_ERROR(show_unwritten(job));
  found_for_ = job.settings;
  if (!job.profile_steps) return Status();
  if (on_device_ && adopted_->capturing()) {  // nothing has run: the times are there once the graph has
    times_captured_ = true;
    return Status();
  }
  times_pending_ = true;
  return emits_profile_ ? report_times() : Status();
}

Status ContextImpl::run_in_turn(const Job& job, Bindings& bindings) {
  const std::lock_guard<std::mutex> lock(run_mutex_);
  return run_now(job, bindings);
}

Status ContextImpl::report_times() const {
  times_pending_ = false;
  if (profiler_.object == nullptr) return Status();
  if (on_device_) WOOTZ_RETURN_IF_ERROR(executor_.read_times(&step_ms_));
  const std::vector<Step>& steps = info_->program().steps;
  for (size_t s = 0; s < steps.size(); ++s) profiler_.report(steps[s].name.c_str(), step_ms_[s]);
  return Status();
}

void ContextImpl::set_replay(bool on) {
  const std::lock_guard<std::mutex> lock(run_mutex_);
  executor_.set_replay(on);
}

ContextImpl::Queued* ContextImpl::take_queued() {
  const std::lock_guard<std::mutex> lock(pending_mutex_);
  if (pending_ == queued_.size()) {
    queued_.push_back(std::make_unique<Queued>(this, info_->core_ptr()));
  }
  return queued_[pending_++].get();
}

void ContextImpl::done(Queued* queued) {
  const std::lock_guard<std::mutex> lock(pending_mutex_);
  const auto at = std::find_if(queued_.begin(), queued_.end(), [&](const auto& q) { return q.get() == queued; });
  std::swap(*at, queued_[--pending_]);
  if (pending_ == 0) idle_.notify_all();
}

Status ContextImpl::Queued::run() {
  Status status;
  try {
    status = context->run_in_turn(job, bindings);
  } catch (...) {
    status = current_exception_status();
  }
  if (!status.ok()) context->reporter_.error(call, status);
  context->done(this);  // the last that may touch the context
  return status;
}

// No other thread takes part: no lock.
Status ContextImpl::enqueue_on_device(cudaStream_t stream) {
  WOOTZ_RETURN_IF_ERROR(adopt(stream));
  fill_job(stream, &job_);
  if (!(job_.taps.empty() && job_.named.empty()) && adopted_->capturing())
    return make_error(Code::kInvalidState,
                      "debug tensors cannot be shown while a stream is captured, since nothing is computed then: turn "
                      "them off, or end the capture");
  return run_now(job_, bindings_);
}

Status ContextImpl::enqueue_on_host_stream(const char* call, cudaStream_t stream) {
  WOOTZ_RETURN_IF_ERROR(bindings_.validate());  // what is wrong is reported now, not when its turn comes
  if (captured_by_hostcuda(stream)) return capture(call, stream);
  Queued* queued = take_queued();
  queued->call = call;
  fill_job(stream, &queued->job);
  if (queued->bindings.version() != bindings_.version()) queued->bindings.copy_from(bindings_);
  const Status status = run_in_stream(stream, queued);
  if (!status.ok()) done(queued);
  return status;
}

Status ContextImpl::enqueue(const char* call, cudaStream_t stream) {
  if (!on_device_ && is_immediate(stream)) {
    fill_job(stream, &job_);
    return run_in_turn(job_, bindings_);
  }
  WOOTZ_RETURN_IF_ERROR(on_device_ ? enqueue_on_device(stream) : enqueue_on_host_stream(call, stream));
  if (consumed_event_ == nullptr) return Status();
  // An event of CUDA's runtime is one of the driver's.
  return on_device_ ? adopted_->record_handle(consumed_event_) : record_event(consumed_event_, stream);
}

bool ContextImpl::enqueueV3(cudaStream_t stream) noexcept {
  constexpr const char* kCall = "IExecutionContext::enqueueV3";
  return attempt(reporter_, kCall, [&] { return enqueue(kCall, stream); });
}

bool ContextImpl::executeV2(void* const* bindings) noexcept {
  constexpr const char* kCall = "IExecutionContext::executeV2";
  return attempt(reporter_, kCall, [&]() -> Status {
    if (bindings == nullptr) return invalid_argument("the list of addresses is null");
    for (size_t i = 0; i < info_->ios().size(); ++i) WOOTZ_RETURN_IF_ERROR(set_address(info_->ios()[i], bindings[i]));
    if (on_device_) {
      WOOTZ_RETURN_IF_ERROR(enqueue(kCall, nullptr));
      return adopted_->synchronize();
    }
    if (hostcuda_loaded()) WOOTZ_RETURN_IF_ERROR(synchronize_hostcuda(nullptr));
    fill_job(nullptr, &job_);
    return run_in_turn(job_, bindings_);
  });
}

void ContextImpl::setAuxStreams(cudaStream_t* auxStreams, int32_t nbStreams) noexcept {
  attempt(reporter_, "IExecutionContext::setAuxStreams", [&]() -> Status {
    if (nbStreams < 0 || nbStreams > 1024) return invalid_argument("{} streams", nbStreams);
    if (auxStreams == nullptr && nbStreams > 0) return invalid_argument("{} streams, and the list is null", nbStreams);
    const std::lock_guard<std::mutex> lock(run_mutex_);
    Device& device = info_->core_ptr()->device();
    std::vector<std::unique_ptr<Stream>> streams;
    std::vector<Stream*> list;
    const int32_t used = std::min(nbStreams, engine_.getNbAuxStreams());
    for (int32_t i = 0; i < used && !device.host_memory(); ++i) {
      WOOTZ_ASSIGN_OR_RETURN(std::unique_ptr<Stream> stream, device.adopt_stream(auxStreams[i]));
      list.push_back(stream.get());
      streams.push_back(std::move(stream));
    }
    executor_.set_aux_streams(std::move(list));
    aux_streams_ = std::move(streams);
    return Status();
  });
}

bool ContextImpl::setInputConsumedEvent(cudaEvent_t event) noexcept {
  return attempt(reporter_, "IExecutionContext::setInputConsumedEvent", [&]() -> Status {
    if (event != nullptr && !on_device_) WOOTZ_RETURN_IF_ERROR(can_record_events());
    consumed_event_ = event;
    return Status();
  });
}

void* ContextImpl::Sink::reallocate(int, void* current, size_t bytes, const Dims&) {
  try {
    void* const memory = allocator_->reallocateOutputAsync(name_, current, bytes, 64, context_.running_in_);
    if (memory == checked_) return memory;
    if (const Status usable = check_address(context_.info_->core().device(), memory); !usable.ok()) {
      refused_ = usable.with_prefix(fmt::format("what the allocator of output '{}' gave", name_));
      return nullptr;
    }
    checked_ = memory;
    return memory;
  } catch (...) {
    return nullptr;
  }
}

void ContextImpl::Sink::notify(const Dims& dims) const { allocator_->notifyShape(name_, to_api(dims)); }

bool ContextImpl::reportToProfiler() const noexcept {
  return attempt(reporter_, "IExecutionContext::reportToProfiler", [&]() -> Status {
    const std::lock_guard<std::mutex> lock(run_mutex_);
    if (profiler_.object == nullptr) return make_error(Code::kInvalidState, "no profiler is set");
    if (!times_pending_ && !times_captured_)
      return make_error(Code::kInvalidState, "no inference is waiting to be reported");
    const DeviceScope current(info_->core_ptr()->device());
    return report_times();
  });
}

}  // namespace wootz::api
