#include "api/runtime/context.h"

#include <algorithm>
#include <cstdlib>

#include "api/runtime/gpu_allocator.h"
#include "api/runtime/host_stream.h"
#include "api/runtime/hostcuda.h"
#include "backends/addresses.h"

namespace wootz::api {

using nvinfer1::ExecutionContextAllocationStrategy;

ContextImpl::ContextImpl(const nvinfer1::ICudaEngine& engine, std::shared_ptr<const EngineInfo> info,
                         const Reporter& reporter, ExecutionContextAllocationStrategy strategy)
    : engine_(engine),
      whole_(std::move(info)),
      info_(whole_),
      reporter_(reporter),
      on_device_(!whole_->core().device().host_memory()),
      arena_(std::make_shared<GrowingBuffer>(whole_->core_ptr()->device())),
      nvtx_verbosity_(engine.getProfilingVerbosity()) {
  const char* const wait = std::getenv("WOOTZ_DEBUG_SYNC");
  debug_sync_ = wait != nullptr ? std::string_view(wait) == "1" : whole_->property_int(property::kDebugSync, 0) == 1;
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
  WOOTZ_ASSIGN_OR_RETURN(context->runner_, context->runner_of(0));
  context->info_ = context->runner_->info;
  if (strategy == ExecutionContextAllocationStrategy::kUSER_MANAGED) context->runner_->bindings.require_memory();
  WOOTZ_RETURN_IF_ERROR(context->reserve_for(0));
  const bool own = strategy != ExecutionContextAllocationStrategy::kUSER_MANAGED;
  const bool all = strategy == ExecutionContextAllocationStrategy::kSTATIC;
  const size_t bytes = all ? context->whole_->largest_memory() : own ? context->whole_->memory(0) : 0;
  context->held_.hold(context->reporter_, "IExecutionContext creation", context->on_device_, bytes);
  return context;
}

Result<ContextImpl::Runner*> ContextImpl::runner_of(size_t profile) {
  const std::shared_ptr<const EngineInfo> info = EngineInfo::of_profile(whole_, profile);
  for (const std::unique_ptr<Runner>& runner : runners_)
    if (runner->info == info) return runner.get();
  auto runner = std::make_unique<Runner>(info, arena_);
  WOOTZ_RETURN_IF_ERROR(prepare(*runner));
  return runners_.emplace_back(std::move(runner)).get();
}

// What was set for the others holds for it as well.
Status ContextImpl::prepare(Runner& runner) {
  std::vector<Stream*> streams;
  for (const std::unique_ptr<Stream>& stream : aux_streams_) streams.push_back(stream.get());
  runner.executor.set_aux_streams(std::move(streams));
  runner.executor.set_ranges(ranges_of(nvtx_verbosity_));
  runner.executor.set_replay(replay_);
  runner.executor.set_persisting(persistent_cache_);
  if (temporary_allocator_ != nullptr)
    runner.executor.set_temporary(
        with_allocator(whole_->core_ptr()->device_ptr(), adopt_allocator(temporary_allocator_)));
  if (runner_ != nullptr)
    for (const auto& [name, tap] : runner_->taps) {
      WOOTZ_ASSIGN_OR_RETURN(runner.taps[name], find_tap(*whole_, *runner.info, name.c_str()));
    }
  return runner.executor.attach(&services_);
}

Status ContextImpl::reserve_for(size_t profile) {
  const size_t weights = static_cast<size_t>(engine_.getWeightStreamingScratchMemorySize());
  switch (config_.getExecutionContextAllocationStrategy()) {
    case ExecutionContextAllocationStrategy::kSTATIC:
      return runner_->executor.reserve(whole_->largest_memory() + weights);
    case ExecutionContextAllocationStrategy::kON_PROFILE_CHANGE:
      return runner_->executor.reserve(whole_->memory(profile) + weights);
    case ExecutionContextAllocationStrategy::kUSER_MANAGED: break;
  }
  return Status();
}

void ContextImpl::wait_idle() {
  std::unique_lock<std::mutex> lock(pending_mutex_);
  idle_.wait(lock, [this] { return pending_ == 0; });
}

void ContextImpl::fill_job(cudaStream_t stream, Job* job) const {
  job->runner = runner_;
  job->taps.clear();
  job->marked.clear();
  job->named.clear();
  if (listener_ != nullptr) {
    const IndexedVector<TensorIndex, PlanTensor>& tensors = info_->program().tensors;
    for (const auto& [name, tensor] : info_->debug_tensors())
      if (debug_on_.count(name) != 0) job->marked.push_back(tensor);
    for (const TensorIndex t : tensors.indices())
      if (unfused_debug_ && tensors[t].kind == TensorKind::kIntermediate && debug_on_.count(tensors[t].name) == 0)
        job->marked.push_back(t);
    job->taps = job->marked;
    for (const auto& [name, tap] : runner_->taps) {
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

void ContextImpl::observe_steps(Runner& runner, bool on) const {
  if (on == runner.observed) return;
  runner.observed = on;
  if (on_device_) return runner.executor.set_timed(on);
  runner.executor.set_observer(on ? StepObserver([ms = &runner.step_ms](StepIndex step, double us) {
    (*ms)[step] = static_cast<float>(us * 1e-3);
  })
                                  : StepObserver());
}

// Tells the allocators what shapes came out.
Status ContextImpl::finish_outputs(const Runner& runner, const Status& ran, const Bindings& bindings) {
  const std::vector<IoTensor>& list = runner.info->program().outputs;
  const size_t outputs = bindings.any_sink() ? list.size() : 0;
  Status refused;
  for (size_t o = 0; o < outputs; ++o)
    if (Sink* const to = sink(bindings, o))
      if (Status why = to->take_refusal(); refused.ok()) refused = std::move(why);
  WOOTZ_RETURN_IF_ERROR(refused);
  WOOTZ_RETURN_IF_ERROR(ran);
  for (size_t o = 0; o < outputs; ++o)
    if (const Sink* const to = sink(bindings, o))
      if (const std::optional<Dims> dims = runner.executor.dims(list[o].tensor)) to->notify(*dims);
  return Status();
}

// An inference. Who calls it sees to it that no other is at work.
Status ContextImpl::run_now(const Job& job, Bindings& bindings) {
  Runner& runner = *job.runner;
  found_for_ = 0;
  running_in_ = services_.stream = job.stream;
  observe_steps(runner, job.profile_steps);
  runner.executor.set_wait_for_steps(job.wait_for_steps);
  set_tap(job);
  WOOTZ_RETURN_IF_ERROR(finish_outputs(runner, runner.executor.run(bindings, adopted_.get()), bindings));
  WOOTZ_RETURN_IF_ERROR(show_unwritten(job));
  found_for_ = job.settings;
  if (!job.profile_steps) return Status();
  timed_ = &runner;
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
  if (on_device_) WOOTZ_RETURN_IF_ERROR(timed_->executor.read_times(&timed_->step_ms));
  const IndexedVector<StepIndex, Step>& steps = timed_->info->program().steps;
  for (const StepIndex s : steps.indices()) profiler_.report(steps[s].name.c_str(), timed_->step_ms[s]);
  return Status();
}

void ContextImpl::set_replay(bool on) {
  const std::lock_guard<std::mutex> lock(run_mutex_);
  replay_ = on;
  for (const std::unique_ptr<Runner>& runner : runners_) runner->executor.set_replay(on);
}

ContextImpl::Queued* ContextImpl::take_queued() {
  const std::lock_guard<std::mutex> lock(pending_mutex_);
  const auto of_runner = [&](const auto& queued) { return &queued->bindings.engine() == &info_->core(); };
  auto at = std::find_if(queued_.begin() + static_cast<ptrdiff_t>(pending_), queued_.end(), of_runner);
  if (at == queued_.end()) {
    queued_.push_back(std::make_unique<Queued>(this, info_->core_ptr()));
    at = queued_.end() - 1;
  }
  std::swap(*at, queued_[pending_]);
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
  return run_now(job_, runner_->bindings);
}

Status ContextImpl::enqueue_on_host_stream(const char* call, cudaStream_t stream) {
  WOOTZ_RETURN_IF_ERROR(runner_->bindings.validate());  // what is wrong is reported now, not when its turn comes
  if (captured_by_hostcuda(stream)) return capture(call, stream);
  Queued* queued = take_queued();
  queued->call = call;
  fill_job(stream, &queued->job);
  if (queued->bindings.version() != runner_->bindings.version()) queued->bindings.copy_from(runner_->bindings);
  const Status status = run_in_stream(stream, queued);
  if (!status.ok()) done(queued);
  return status;
}

Status ContextImpl::enqueue(const char* call, cudaStream_t stream) {
  if (!on_device_ && is_immediate(stream)) {
    fill_job(stream, &job_);
    return run_in_turn(job_, runner_->bindings);
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
    return run_in_turn(job_, runner_->bindings);
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
    for (const std::unique_ptr<Runner>& runner : runners_) runner->executor.set_aux_streams(list);
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
    const Device& device = context_.info_->core().device();
    Status usable = check_alignment(device, memory, bytes);
    if (usable.ok() && memory == checked_) return memory;
    if (usable.ok()) usable = check_address(device, memory);
    if (!usable.ok()) {
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
