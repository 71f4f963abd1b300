#include "api/runtime/context.h"

#include <algorithm>
#include <cstdlib>

#include "api/runtime/host_stream.h"

namespace wootz::api {

using nvinfer1::ExecutionContextAllocationStrategy;

ContextImpl::ContextImpl(const EngineImpl& engine, ExecutionContextAllocationStrategy strategy)
    : engine_(engine),
      info_(engine.info()),
      reporter_(engine.reporter()),
      front_(std::make_unique<Executor>(info_->core_ptr())),
      back_(info_->core_ptr()),
      nvtx_verbosity_(engine.getProfilingVerbosity()) {
  const Program& program = info_->program();
  input_address_.assign(program.inputs.size(), nullptr);
  output_address_.assign(program.outputs.size(), nullptr);
  allocators_.assign(program.outputs.size(), nullptr);
  sinks_ = std::vector<Sink>(program.outputs.size());
  for (const IoInfo& io : info_->ios()) {
    if (io.is_input) continue;
    sinks_[io.number].name = io.name;
    sinks_[io.number].device = &info_->core_ptr()->device();
  }
  step_ms_.assign(program.steps.size(), 0);
  debug_on_.assign(program.tensors.size(), 0);
  const char* const wait = std::getenv("WOOTZ_DEBUG_SYNC");
  debug_sync_ = wait != nullptr && std::string_view(wait) == "1";
  config_.setExecutionContextAllocationStrategy(strategy);
}

ContextImpl::~ContextImpl() noexcept { wait_idle(); }

Result<std::unique_ptr<ContextImpl>> ContextImpl::create(const EngineImpl& engine,
                                                         ExecutionContextAllocationStrategy strategy) {
  const auto number = static_cast<int32_t>(strategy);
  if (number < 0 || number >= nvinfer1::EnumMax<ExecutionContextAllocationStrategy>())
    return invalid_argument("unknown allocation strategy {}", number);
  std::unique_ptr<ContextImpl> context(new ContextImpl(engine, strategy));
  WOOTZ_RETURN_IF_ERROR(context->reserve_for(0));
  return context;
}

Status ContextImpl::reserve_for(size_t profile) {
  switch (config_.getExecutionContextAllocationStrategy()) {
    case ExecutionContextAllocationStrategy::kSTATIC: return back_.reserve(info_->largest_memory());
    case ExecutionContextAllocationStrategy::kON_PROFILE_CHANGE: return back_.reserve(info_->memory(profile));
    case ExecutionContextAllocationStrategy::kUSER_MANAGED: break;
  }
  return Status();
}

void ContextImpl::wait_idle() {
  std::unique_lock<std::mutex> lock(pending_mutex_);
  idle_.wait(lock, [this] { return pending_ == 0; });
}

// Everything an inference needs is there: shapes, addresses, memory.
Status ContextImpl::check_ready() {
  const Program& program = info_->program();
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    const char* name = info_->ios()[i].name;
    if (!front_->input_dims_known(i))
      return make_error(Code::kInvalidState, "the shape of input '{}' is not set", name);
    if (input_address_[i] == nullptr && front_->input_dims(i).volume() != 0)
      return make_error(Code::kInvalidState, "the address of input '{}' is not set", name);
    if (!program.inputs[i].is_shape_tensor) continue;
    front_->set_input_address(i, input_address_[i]);  // its values may be new ones
  }
  WOOTZ_RETURN_IF_ERROR(front_->resolve_shapes());
  const ShapePlan& plan = *front_->shape_plan();
  for (size_t o = 0; o < program.outputs.size(); ++o) {
    if (output_address_[o] != nullptr || allocators_[o] != nullptr) continue;
    const auto t = static_cast<size_t>(program.outputs[o].tensor);
    if (plan.known[t] && plan.dims[t].volume() == 0) continue;
    return make_error(Code::kInvalidState, "output '{}' has neither an address nor an allocator",
                      program.tensors[t].name);
  }
  const bool user =
      config_.getExecutionContextAllocationStrategy() == ExecutionContextAllocationStrategy::kUSER_MANAGED;
  if (user && user_memory_ == nullptr && plan.total_bytes() > 0)
    return make_error(Code::kInvalidState, "the context was created without device memory: set {} bytes of it first",
                      plan.total_bytes());
  return Status();
}

Status ContextImpl::fill_job(cudaStream_t stream, Job* job) {
  const Program& program = info_->program();
  job->profile = front_->profile();
  job->input_dims.resize(program.inputs.size());
  for (size_t i = 0; i < program.inputs.size(); ++i) job->input_dims[i] = front_->input_dims(i);
  job->inputs = input_address_;
  job->outputs = output_address_;
  job->allocators = allocators_;
  job->taps.clear();
  job->named.clear();
  if (listener_ != nullptr) {
    for (size_t t = 0; t < debug_on_.size(); ++t)
      if (debug_on_[t] || (unfused_debug_ && program.tensors[t].kind == TensorKind::kIntermediate))
        job->taps.push_back(static_cast<int32_t>(t));
    for (const auto& [name, tap] : taps_) {
      const bool watched = std::find(job->taps.begin(), job->taps.end(), tap.tensor) != job->taps.end();
      if (tap.written && !watched) job->taps.push_back(tap.tensor);
      job->named.push_back(tap);
    }
  }
  job->arena = user_memory_;
  job->arena_bytes = user_memory_bytes_;
  job->profile_steps = profiler_ != nullptr;
  job->wait_for_steps = debug_sync_;
  job->stream = stream;
  job->settings = settings_;
  return Status();
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

Status ContextImpl::run_back(const Job& job) {
  const Program& program = info_->program();
  found_for_ = 0;
  if (!info_->core_ptr()->device().host_memory()) WOOTZ_RETURN_IF_ERROR(adopt(job.stream));
  if (back_.profile() != job.profile) WOOTZ_RETURN_IF_ERROR(back_.set_profile(job.profile));
  for (size_t i = 0; i < job.inputs.size(); ++i) {
    WOOTZ_RETURN_IF_ERROR(back_.set_input_dims(i, job.input_dims[i]));
    back_.set_input_address(i, job.inputs[i]);
  }
  for (size_t o = 0; o < job.outputs.size(); ++o) {
    back_.set_output_address(o, job.outputs[o]);
    Sink& sink = sinks_[o];
    sink.allocator = job.allocators[o];
    sink.current = job.outputs[o];
    sink.stream = job.stream;
    sink.refused = Status();
    back_.set_output_sink(o, sink.allocator != nullptr ? &sink : nullptr);
  }
  back_.set_arena(job.arena, job.arena_bytes);
  if (job.profile_steps)
    back_.set_observer([this](size_t step, double us) { step_ms_[step] = static_cast<float>(us * 1e-3); });
  else
    back_.set_observer(nullptr);
  back_.set_wait_for_steps(job.wait_for_steps);
  set_tap(job);
  const Status status = back_.run(adopted_.get());
  for (const Sink& sink : sinks_) WOOTZ_RETURN_IF_ERROR(sink.refused);
  WOOTZ_RETURN_IF_ERROR(status);
  WOOTZ_RETURN_IF_ERROR(show_unwritten(job));
  for (size_t o = 0; o < job.outputs.size(); ++o) {  // sinks of late outputs were told while running
    if (sinks_[o].allocator == nullptr) continue;
    if (const std::optional<Dims> dims = back_.dims(program.outputs[o].tensor))
      sinks_[o].allocator->notifyShape(sinks_[o].name, to_api(*dims));
  }
  found_for_ = job.settings;
  if (job.profile_steps) times_pending_ = true;
  return Status();
}

Status ContextImpl::run_job(const Job& job) {
  const std::lock_guard<std::mutex> lock(run_mutex_);
  WOOTZ_RETURN_IF_ERROR(run_back(job));
  if (times_pending_ && emits_profile_) report_times();
  return Status();
}

void ContextImpl::report_times() const {
  times_pending_ = false;
  if (profiler_ == nullptr) return;
  const std::vector<Step>& steps = info_->program().steps;
  for (size_t s = 0; s < steps.size(); ++s) profiler_->reportLayerTime(steps[s].name.c_str(), step_ms_[s]);
}

ContextImpl::Queued* ContextImpl::take_queued() {
  const std::lock_guard<std::mutex> lock(pending_mutex_);
  if (pending_ == queued_.size()) {
    queued_.push_back(std::make_unique<Queued>());
    queued_.back()->context = this;
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
    status = context->run_job(job);
  } catch (...) {
    status = current_exception_status();
  }
  if (!status.ok()) context->reporter_.error(call, status);
  context->done(this);  // the last that may touch the context
  return status;
}

Status ContextImpl::enqueue(const char* call, cudaStream_t stream) {
  const bool on_device = !info_->core_ptr()->device().host_memory();  // its stream takes the work, not the host's
  if (on_device) {
    WOOTZ_RETURN_IF_ERROR(adopt(stream));
    front_->set_capturing(adopted_->capturing());
  }
  WOOTZ_RETURN_IF_ERROR(check_ready());
  if (on_device) {  // no other thread takes part: no lock
    WOOTZ_RETURN_IF_ERROR(fill_job(stream, &job_));
    if (adopted_->capturing() && !(job_.taps.empty() && job_.named.empty()))
      return make_error(
          Code::kInvalidState,
          "debug tensors cannot be shown while a stream is captured, since nothing is computed then: turn "
          "them off, or end the capture");
    WOOTZ_RETURN_IF_ERROR(run_back(job_));
    if (times_pending_ && emits_profile_) report_times();
    return consumed_event_ != nullptr ? record_event(consumed_event_, stream) : Status();
  }
  if (is_immediate(stream)) {
    WOOTZ_RETURN_IF_ERROR(fill_job(stream, &job_));
    WOOTZ_RETURN_IF_ERROR(run_job(job_));
    return Status();
  }
  Queued* queued = take_queued();
  queued->call = call;
  Status status = fill_job(stream, &queued->job);
  if (status.ok()) status = run_in_stream(stream, queued);
  if (!status.ok()) {
    done(queued);
    return status;
  }
  return consumed_event_ == nullptr ? Status() : record_event(consumed_event_, stream);
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
    WOOTZ_RETURN_IF_ERROR(enqueue(kCall, nullptr));
    const std::lock_guard<std::mutex> lock(run_mutex_);
    return adopted_ != nullptr ? adopted_->synchronize() : Status();
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
    back_.set_aux_streams(std::move(list));
    aux_streams_ = std::move(streams);
    return Status();
  });
}

bool ContextImpl::setInputConsumedEvent(cudaEvent_t event) noexcept {
  return attempt(reporter_, "IExecutionContext::setInputConsumedEvent", [&]() -> Status {
    if (event != nullptr) WOOTZ_RETURN_IF_ERROR(can_record_events());
    consumed_event_ = event;
    return Status();
  });
}

void* ContextImpl::Sink::reallocate(int, size_t bytes, const Dims& dims) {
  try {
    void* memory = allocator->reallocateOutputAsync(name, current, bytes, 64, stream);
    if (memory != nullptr) current = memory;
    (void)dims;
    if (memory == checked) return memory;
    if (const Status usable = check_address(*device, memory); !usable.ok()) {
      refused = usable.with_prefix(fmt::format("what the allocator of output '{}' gave", name));
      return nullptr;
    }
    checked = memory;
    return memory;
  } catch (...) {
    return nullptr;
  }
}

bool ContextImpl::reportToProfiler() const noexcept {
  const std::lock_guard<std::mutex> lock(run_mutex_);
  if (profiler_ == nullptr || !times_pending_) {
    attempt(reporter_, "IExecutionContext::reportToProfiler", [&] {
      return make_error(Code::kInvalidState, "{}",
                        profiler_ == nullptr ? "no profiler is set" : "no inference is waiting to be reported");
    });
    return false;
  }
  report_times();
  return true;
}

}  // namespace wootz::api
