// From bindings to a run: what is done before the steps. The steps themselves are in run_steps.cpp.
#include "runtime/executor.h"

#include <algorithm>

#include "base/thread_pool.h"
#include "runtime/range.h"

namespace wootz {

namespace {

Status no_weights(const std::string& network) {
  return make_error(Code::kInvalidState,
                    "the engine of network '{}' has no weights: its plan was stripped of them; set them all by an "
                    "IRefitter or an IParserRefitter (wootz refit) before the first inference",
                    network);
}

}  // namespace

Executor::Executor(std::shared_ptr<const EngineCore> engine, std::shared_ptr<GrowingBuffer> arena)
    : engine_(std::move(engine)),
      memory_(engine_, std::move(arena)),
      pointers_(program()),
      recordings_(std::max<size_t>(1, engine_->options().cached_shapes)) {}

Status Executor::reserve(size_t bytes) {
  bound_version_ = 0;  // the steps point into memory that may be given back
  return memory_.reserve(bytes);
}

void Executor::set_tap(std::vector<TensorIndex> tensors, TensorTap tap) {
  const IndexedVector<TensorIndex, StepIndex> complete = completing_steps(program());
  tapped_.assign(program().steps.size(), {});
  for (const TensorIndex t : tensors)
    if (complete.has(t) && complete[t].exists()) tapped_[complete[t]].push_back(t);
  tap_ = std::move(tap);
}

void Executor::set_timed(bool timed) {
  if (timed != timed_) recordings_.forget();
  timed_ = timed;
}

void Executor::set_ranges(Ranges ranges) {
  if (ranges != range_detail_) recordings_.forget();  // ranges are made while steps are recorded
  range_detail_ = ranges;
  if (ranges != Ranges::kTactics || !range_names_.empty() || engine_->device().ranges() == nullptr) return;
  for (const Step& step : program().steps) range_names_.push_back(step.name + " [" + step.tactic.to_string() + "]");
}

void Executor::set_persisting(size_t bytes) {
  if (bytes != persisting_) recordings_.forget();
  persisting_ = bytes;
}

std::optional<Dims> Executor::dims(TensorIndex t) const {
  if (plan_ == nullptr) return std::nullopt;
  if (plan_->known[t]) return plan_->dims[t];
  return plan_->any_dynamic ? dynamic_->dims(t) : std::nullopt;
}

Status Executor::attach(const ContextServices* services) {
  const DeviceScope current(engine_->device());
  services_ = services;
  attached_ = false;
  states_.clear();
  IndexedVector<StepIndex, std::unique_ptr<KernelState>> states;
  bool any = false;
  for (const StepIndex s : program().steps.indices()) {
    Result<std::unique_ptr<KernelState>> made = attach_kernel(engine_->kernel(s), services);
    if (!made.ok()) return at_step(s, made.status());
    states.push_back(std::move(made).value());
    any = any || states.back() != nullptr;
  }
  if (any) states_ = std::move(states);
  attached_ = true;
  return Status();
}

Result<Stream*> Executor::default_stream() {
  if (default_stream_ == nullptr) {
    WOOTZ_ASSIGN_OR_RETURN(default_stream_, engine_->device().adopt_stream(nullptr));
  }
  return default_stream_.get();
}

// Makes everything ready for what changed in the bindings.
Status Executor::bind(const Bindings& bindings) {
  bound_version_ = 0;
  if (engine_->generation() != generation_) {
    generation_ = engine_->generation();
    recordings_.clear();
    dynamic_.reset();
    attached_ = attached_ && states_.empty();
  }
  if (capturing_ && !recordings_.knows(*bindings.plan()))
    return make_error(Code::kInvalidState,
                      "these shapes are new to the context: run them once before a stream is captured");
  if (!attached_) WOOTZ_RETURN_IF_ERROR(attach(services_));
  WOOTZ_RETURN_IF_ERROR(memory_.bind(bindings));
  if (weights_ == nullptr && engine_->streams_weights()) {
    auto weights = std::make_unique<WeightStream>(*engine_);
    WOOTZ_RETURN_IF_ERROR(weights->prepare());
    weights_ = std::move(weights);
  }
  const std::shared_ptr<const ShapePlan>& plan = bindings.plan();
  if (on_device()) {
    WOOTZ_RETURN_IF_ERROR(aux_.prepare(engine_->device(), plan->order));
    recordings_.use(plan);
  }
  if (plan->any_dynamic && dynamic_ == nullptr) dynamic_ = std::make_unique<DynamicSteps>(engine_);
  plan_ = plan;
  pointers_.point(program(), memory_);
  bound_version_ = bindings.version();
  return Status();
}

// Asks where the outputs of known extents go whose memory is decided while running.
Status Executor::ask_sinks(const Bindings& bindings) {
  bool moved = false;
  for (size_t o = 0; o < program().outputs.size(); ++o) {
    OutputSink* const sink = bindings.output_sink(o);
    const TensorIndex t = program().outputs[o].tensor;
    if (sink == nullptr || !plan_->known[t]) continue;
    const Dims& dims = plan_->dims[t];
    void* const memory = sink->reallocate(static_cast<int>(o), bindings.output_address(o),
                                          tensor_bytes(program().tensors[t], dims), dims);
    if (memory == nullptr && dims.volume() != 0)
      return make_error(Code::kResourceExhausted, "the output allocator refused memory for '{}'",
                        program().tensors[t].name);
    moved = moved || memory != memory_.output(o);
    memory_.set_output(o, memory);
  }
  if (moved) pointers_.point(program(), memory_);
  return Status();
}

Status Executor::check_capture() const {
  const StepIndex step(plan_->recordable_steps);
  if (!program().steps.has(step)) return Status();
  return make_error(Code::kInvalidState,
                    "it waits for the device (its sizes are found by running, or the host computes it): it cannot be "
                    "part of a captured stream")
      .at(PlaceKind::kLayer, program().steps[step].name);
}

Status Executor::upload_shapes(const Bindings& bindings, bool changed, Stream* stream) {
  if (changed) WOOTZ_RETURN_IF_ERROR(memory_.upload_shape_tensors(stream));
  return changed || bindings.reads_values() ? memory_.upload_shape_inputs(stream) : Status();
}

// Runs the first steps from a recording, made now where there is none at these addresses. `done`: how many.
Status Executor::replay(Stream* stream, size_t* done) {
  const auto record = [&](Stream& recorder, size_t steps) {
    return run_steps(&recorder, {}, StepIndex(0), StepIndex(steps));
  };
  const Result<size_t> replayed = recordings_.replay(engine_->device(), *stream, pointers_, record);
  if (replayed.ok()) *done = *replayed;
  const Status& status = replayed.status();
  return status.ok() || status.place(PlaceKind::kLayer) != nullptr ? status
                                                                   : status.at(PlaceKind::kNetwork, program().name);
}

Status Executor::run(Bindings& bindings, Stream* stream) {
  const DeviceScope current(engine_->device());
  const EngineCore::Reading reading(*engine_);
  if (program().stripped) return no_weights(program().name);
  if (on_device() && stream == nullptr) {
    WOOTZ_ASSIGN_OR_RETURN(stream, default_stream());
  }
  capturing_ = on_device() && stream->capturing();
  WOOTZ_RETURN_IF_ERROR(bindings.validate(capturing_ ? Bindings::NewShapes::kRefused : Bindings::NewShapes::kAllowed));
  const bool changed = bindings.version() != bound_version_ || memory_.moved();
  if (changed) WOOTZ_RETURN_IF_ERROR(bind(bindings));
  if (bindings.any_sink()) WOOTZ_RETURN_IF_ERROR(ask_sinks(bindings));
  if (capturing_) WOOTZ_RETURN_IF_ERROR(check_capture());
  bindings_ = &bindings;
  if (plan_->any_dynamic) dynamic_->start(plan_);
  if (on_device()) WOOTZ_RETURN_IF_ERROR(upload_shapes(bindings, changed, stream));
  if (on_device() && timed_) WOOTZ_RETURN_IF_ERROR(times_.prepare(engine_->device(), program().steps.size()));
  ranges_ = range_detail_ == Ranges::kNone ? nullptr : engine_->device().ranges();
  const Range range(ranges_, program().name.c_str());
  const bool whole = replay_ && !watched() && !capturing_ && (ranges_ == nullptr || !ranges_->each_step);
  size_t done = 0;
  if (on_device() && whole) WOOTZ_RETURN_IF_ERROR(replay(stream, &done));
  const StepIndex next(done), end = program().steps.next();
  return next == end ? Status() : run_steps(stream, given_streams_, next, end);
}

}  // namespace wootz
