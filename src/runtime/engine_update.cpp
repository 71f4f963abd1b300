// New weights for a loaded engine.
#include "runtime/engine_core.h"

namespace wootz {

EngineCore::Reading::Reading(const EngineCore& engine) {
  if (!engine.refittable_) return;
  const EngineCore& updated = engine.whole_ == nullptr ? engine : *engine.whole_;
  mutex_ = &updated.weights_mutex_;
  const std::lock_guard<std::mutex> turn(updated.update_turn_);
  mutex_->lock_shared();
}

EngineCore::Reading::~Reading() {
  if (mutex_ != nullptr) mutex_->unlock_shared();
}

Status EngineCore::update(ProgramUpdate update, NewKernels kernels, Stream* stream) {
  if (!refittable_) return make_error(Code::kInvalidState, "the engine was not built refittable");
  WOOTZ_RETURN_IF_ERROR(keep_in_file(&update));
  const DeviceScope current(*device_);
  const std::lock_guard<std::mutex> turn(update_turn_);
  const std::unique_lock<std::shared_mutex> none_reads(weights_mutex_);
  return replace(std::move(update), std::move(kernels), stream);
}

Status EngineCore::replace(ProgramUpdate update, NewKernels kernels, Stream* stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (size_t b = 0; b < update.bodies.size(); ++b)
    WOOTZ_RETURN_IF_ERROR(bodies_[b]->replace(update.bodies[b], std::move(kernels.bodies[b]), stream));
  for (const auto& [number, constant] : update.constants)
    WOOTZ_RETURN_IF_ERROR(update_constant(number, constant, stream));
  const bool bound_anew = !kernels.steps.empty() || (constants_.empty() && !update.constants.empty());
  apply(std::move(update), own_program_.get());
  for (auto& [number, kernel] : kernels.steps) kernels_[number] = std::move(kernel);
  if (bound_anew) {
    cache_.clear();
    generation_.fetch_add(1, std::memory_order_release);
  }
  return Status();
}

}  // namespace wootz
