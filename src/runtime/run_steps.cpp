// The executor's loops over steps: in order, waiting after each, or over several streams.
#include <chrono>

#include "base/thread_pool.h"
#include "runtime/executor.h"
#include "runtime/range.h"

namespace wootz {

Status Executor::at_step(StepIndex s, const Status& status) const {
  const Step& step = program().steps[s];
  return status.at(PlaceKind::kLayer, step.name, fmt::format("({})", step.tactic.to_string()));
}

const char* Executor::range_name(StepIndex s) const {
  if (ranges_ == nullptr) return "";
  return range_detail_ == Ranges::kTactics ? range_names_[s].c_str() : program().steps[s].name.c_str();
}

Status Executor::run_step(StepIndex s, Stream* stream) {
  const Range range(ranges_, range_name(s));
  if (plan_->dynamic[s]) return dynamic_->run(s, {*bindings_, memory_, stream, state(s)});
  const RunArgs args{pointers_.inputs(s), pointers_.outputs(s), memory_.workspace(s), nullptr, stream};
  return run_call(*plan_->calls[s], args, state(s));
}

Status Executor::run_in_order(Stream* stream, StepIndex first, StepIndex end) {
  for (StepIndex s = first; s < end; ++s)
    if (const Status status = run_step(s, stream); !status.ok()) [[unlikely]]
      return at_step(s, status);
  return Status();
}

// In their order on one stream, with the weights that each wants brought in.
Status Executor::run_streaming(Stream* stream, StepIndex first, StepIndex end) {
  weights_->begin(first, stream, memory_.weight_scratch());
  for (StepIndex s = first; s < end; ++s) {
    if (const Status status = weights_->before(s); !status.ok()) return at_step(s, status);
    WOOTZ_RETURN_IF_ERROR(watched()                     ? run_watched(stream, s, s.next())
                          : timed_ && stream != nullptr ? run_timed(*stream, s, s.next())
                                                        : run_in_order(stream, s, s.next()));
    weights_->after(s);
  }
  return weights_->end();
}

Status Executor::show_tapped(StepIndex s) {
  for (const TensorIndex t : tapped_[s])
    if (const std::optional<Dims> extents = dims(t)) WOOTZ_RETURN_IF_ERROR(tap_(t, memory_.address(t), *extents));
  return Status();
}

// One after the other, with a mark after each.
Status Executor::run_timed(Stream& stream, StepIndex first, StepIndex end) {
  if (first == StepIndex(0)) WOOTZ_RETURN_IF_ERROR(times_.begin(stream));
  for (StepIndex s = first; s < end; ++s) {
    Status status = run_step(s, &stream);
    if (status.ok()) status = times_.after(s, stream);
    if (!status.ok()) return at_step(s, status);
  }
  return Status();
}

// One after the other, each done before it is observed and the next one begins.
Status Executor::run_watched(Stream* stream, StepIndex first, StepIndex end) {
  using Clock = std::chrono::steady_clock;
  const bool wait = stream != nullptr && !capturing_;
  if (wait) WOOTZ_RETURN_IF_ERROR(stream->synchronize());
  if (timed_ && stream != nullptr && first == StepIndex(0)) WOOTZ_RETURN_IF_ERROR(times_.begin(*stream));
  for (StepIndex s = first; s < end; ++s) {
    const Clock::time_point start = Clock::now();
    Status status = run_step(s, stream);
    if (timed_ && stream != nullptr && status.ok()) status = times_.after(s, *stream);
    if (wait && status.ok()) status = stream->synchronize();
    if (status.ok() && observer_) observer_(s, std::chrono::duration<double, std::micro>(Clock::now() - start).count());
    if (status.ok() && tap_) status = show_tapped(s);
    if (!status.ok()) return at_step(s, status);
  }
  return Status();
}

// Where they may, steps run at the same time. `aux`: streams for the auxiliary ones; those that are missing are our
// own.
Status Executor::run_concurrently(Stream& stream, std::span<Stream* const> aux, StepIndex first, StepIndex end) {
  WOOTZ_RETURN_IF_ERROR(aux_.begin(plan_->order, stream, aux));
  for (StepIndex s = first; s < end; ++s) {
    WOOTZ_ASSIGN_OR_RETURN(Stream* const on, aux_.before(s));
    Status status = run_step(s, on);
    if (status.ok()) status = aux_.after(s);
    if (!status.ok()) return at_step(s, status);
  }
  return aux_.end();
}

// While it is on, what the work on the stream reads and writes of the activations is kept in the device's cache.
Status Executor::persist(Stream& stream, bool on) const {
  return stream.persist(memory_.activations(), plan_->total_bytes(), on ? persisting_ : 0);
}

Status Executor::put_steps(Stream* stream, std::span<Stream* const> aux, StepIndex first, StepIndex end) {
  if (weights_ != nullptr) return run_streaming(stream, first, end);
  if (watched()) return run_watched(stream, first, end);
  if (timed_ && stream != nullptr) return run_timed(*stream, first, end);
  if (stream != nullptr && aux_.ready(plan_->order)) return run_concurrently(*stream, aux, first, end);
  return run_in_order(stream, first, end);
}

Status Executor::run_steps(Stream* stream, std::span<Stream* const> aux, StepIndex first, StepIndex end) {
  const ActiveScope active;
  const ParallelScope threads(engine_->options().threads);
  const bool persists =
      stream != nullptr && stream->native() != nullptr && persisting_ != 0 && memory_.activations() != nullptr;
  if (persists) WOOTZ_RETURN_IF_ERROR(persist(*stream, true));
  Status status = put_steps(stream, aux, first, end);
  if (persists)
    if (Status ended = persist(*stream, false); status.ok()) status = std::move(ended);
  return status;
}

}  // namespace wootz
