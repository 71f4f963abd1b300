#include "runtime/engine_core.h"

#include <algorithm>

#include "base/thread_pool.h"

namespace wootz {
Result<std::shared_ptr<EngineCore>> EngineCore::create(Parts parts, const EngineOptions& options) {
  std::shared_ptr<EngineCore> engine(new EngineCore());
  engine->program_ = std::move(parts.program);
  engine->whole_ = parts.whole;
  engine->refittable_ = engine->program_->refit != nullptr || (parts.whole != nullptr && parts.whole->refittable_);
  if (engine->refittable_ || parts.of_refittable || options.stream_weights)
    engine->program_ = engine->own_program_ = std::make_shared<Program>(*engine->program_);
  engine->device_ = std::move(parts.device);
  engine->options_ = options;
  if (engine->options_.threads <= 0) engine->options_.threads = ThreadPool::process().size();
  engine->kernels_ = std::move(parts.kernels);
  engine->bodies_ = std::move(parts.bodies);
  const DeviceScope current(*engine->device_);
  if (!options.stream_weights || engine->whole_ != nullptr) WOOTZ_RETURN_IF_ERROR(engine->place_weights());
  return engine;
}

std::shared_ptr<EngineCore> EngineCore::with_streams(const std::shared_ptr<const EngineCore>& engine,
                                                     const StepStreams& streams) {
  std::shared_ptr<EngineCore> other(new EngineCore());
  auto program = std::make_shared<Program>(*engine->program_);
  for (const StepIndex s : program->steps.indices())
    if (streams.has(s)) program->steps[s].stream = streams[s];
  other->program_ = std::move(program);
  other->device_ = engine->device_;
  other->options_ = engine->options_;
  other->kernels_ = engine->kernels_;
  other->constants_ = engine->constants_;
  other->lender_ = engine;
  return other;
}

EngineCore::~EngineCore() { drop_weights(); }

Result<std::shared_ptr<const ShapePlan>> EngineCore::shape_plan(const std::vector<int64_t>& symbols) const {
  std::unique_lock<std::mutex> lock(mutex_);
  for (auto it = cache_.begin(); it != cache_.end(); ++it) {
    if ((*it)->symbols != symbols) continue;
    cache_.splice(cache_.begin(), cache_, it);
    return cache_.front();
  }
  if (!refittable_) lock.unlock();  // otherwise an update waits until it is made, and then drops it
  const ParallelScope threads(options_.threads);
  WOOTZ_ASSIGN_OR_RETURN(std::shared_ptr<ShapePlan> plan, make_shape_plan(*program_, symbols, kernels_, true));
  if (!device_->host_memory()) plan->weight_scratch = residency_.scratch;
  // Calls may look at their kernels, which an update replaces.
  if (own_program_ != nullptr) plan->kernels = kernels_;
  if (!lock.owns_lock()) lock.lock();
  cache_.push_front(plan);
  while (cache_.size() > std::max<size_t>(1, options_.cached_shapes)) cache_.pop_back();
  return std::shared_ptr<const ShapePlan>(std::move(plan));
}

Result<size_t> EngineCore::memory_for_profile(size_t profile) const {
  const ParallelScope threads(options_.threads);
  WOOTZ_ASSIGN_OR_RETURN(const MemoryReport report, memory_report(profile));
  return report.per_context();
}

}  // namespace wootz
