// The executor's loops over steps: in order, waiting after each, or over several streams.
#include <chrono>

#include "base/thread_pool.h"
#include "runtime/executor.h"
#include "runtime/range.h"

namespace wootz {

Status Executor::at_step(size_t s, const Status& status) const {
  const Step& step = program().steps[s];
  return status.at(PlaceKind::kLayer, step.name, fmt::format("({})", step.tactic.to_string()));
}

Status Executor::run_step(size_t s, Stream* stream) {
  const Range range(ranges_, program().steps[s].name.c_str());
  if (plan_->dynamic[s]) return dynamic_->run(s, {*bindings_, memory_, stream});
  return plan_->calls[s]->run({pointers_.inputs(s), pointers_.outputs(s), memory_.workspace(s), nullptr, stream});
}

Status Executor::run_in_order(Stream* stream, size_t first, size_t end) {
  for (size_t s = first; s < end; ++s)
    if (const Status status = run_step(s, stream); !status.ok()) [[unlikely]]
      return at_step(s, status);
  return Status();
}

Status Executor::show_tapped(size_t s) {
  for (const TensorIndex t : tapped_[s])
    if (const std::optional<Dims> extents = dims(t)) WOOTZ_RETURN_IF_ERROR(tap_(t, memory_.address(t), *extents));
  return Status();
}

// One after the other, each done before it is observed and the next one begins.
Status Executor::run_watched(Stream* stream, size_t first, size_t end) {
  using Clock = std::chrono::steady_clock;
  const bool wait = stream != nullptr && !capturing_;
  if (wait) WOOTZ_RETURN_IF_ERROR(stream->synchronize());
  for (size_t s = first; s < end; ++s) {
    const Clock::time_point start = Clock::now();
    Status status = run_step(s, stream);
    if (wait && status.ok()) status = stream->synchronize();
    if (status.ok() && observer_) observer_(s, std::chrono::duration<double, std::micro>(Clock::now() - start).count());
    if (status.ok() && tap_) status = show_tapped(s);
    if (!status.ok()) return at_step(s, status);
  }
  return Status();
}

// Where they may, steps run at the same time. `aux`: streams for the auxiliary ones; those that are missing are our
// own.
Status Executor::run_concurrently(Stream& stream, std::span<Stream* const> aux, size_t first, size_t end) {
  WOOTZ_RETURN_IF_ERROR(aux_.begin(plan_->order, stream, aux));
  for (size_t s = first; s < end; ++s) {
    WOOTZ_ASSIGN_OR_RETURN(Stream* const on, aux_.before(s));
    Status status = run_step(s, on);
    if (status.ok()) status = aux_.after(s);
    if (!status.ok()) return at_step(s, status);
  }
  return aux_.end();
}

Status Executor::run_steps(Stream* stream, std::span<Stream* const> aux, size_t first, size_t end) {
  const ActiveScope active;
  const ParallelScope threads(engine_->options().threads);
  if (watched()) return run_watched(stream, first, end);
  if (stream != nullptr && aux_.ready(plan_->order)) return run_concurrently(*stream, aux, first, end);
  return run_in_order(stream, first, end);
}

}  // namespace wootz
