// New weights for a loaded engine.
#include "runtime/engine_core.h"

namespace wootz {

EngineCore::Reading::Reading(const EngineCore& engine) : mutex_(engine.refittable_ ? &engine.weights_mutex_ : nullptr) {
  if (mutex_ == nullptr) return;
  const std::lock_guard<std::mutex> turn(engine.update_turn_);
  mutex_->lock_shared();
}

EngineCore::Reading::~Reading() {
  if (mutex_ != nullptr) mutex_->unlock_shared();
}

Status EngineCore::update(EngineUpdate update, NewKernels kernels, Stream* stream) {
  if (!refittable_) return make_error(Code::kInvalidState, "the engine was not built refittable");
  const DeviceScope current(*device_);
  const std::lock_guard<std::mutex> turn(update_turn_);
  const std::unique_lock<std::shared_mutex> none_reads(weights_mutex_);
  const std::lock_guard<std::mutex> lock(mutex_);
  Program& program = *own_program_;
  for (const auto& [number, constant] : update.constants) {
    if (constants_.empty()) continue;
    void* const to = const_cast<void*>(constants_[number]);
    WOOTZ_RETURN_IF_ERROR(device_->copy(to, constant.data, constant.bytes, stream).with_prefix("weights"));
  }
  const bool bound_anew = !kernels.empty() || (constants_.empty() && !update.constants.empty());
  for (auto& [number, constant] : update.constants) program.constants[number] = std::move(constant);
  for (auto& [number, problem] : update.steps) program.steps[number].problem = std::move(problem);
  for (auto& [number, kernel] : kernels) kernels_[number] = std::move(kernel);
  program.refit = std::move(update.recipe);
  if (bound_anew) {
    cache_.clear();
    generation_.fetch_add(1, std::memory_order_release);
  }
  return Status();
}

}  // namespace wootz
