// ICudaEngine's weight streaming.
#include <algorithm>

#include "api/runtime/engine.h"
#include "runtime/weight_residency.h"

namespace wootz::api {

namespace {

// On a device, what weights on their way take of a context's memory; the host reads them where they are.
size_t scratch_of(const EngineCore& core, const WeightResidency& residency) {
  return core.device().host_memory() ? 0 : (residency.scratch == 0 ? 0 : residency.scratch + 256);
}

}  // namespace

size_t EngineImpl::weight_scratch() const { return scratch_of(info_->core(), info_->core().residency()); }

Status EngineImpl::set_budget(int64_t bytes) {
  if (!info_->core().options().stream_weights)
    return make_error(Code::kInvalidState,
                      "the engine does not stream its weights: build it with BuilderFlag::kWEIGHT_STREAMING");
  if (bytes < 0) return invalid_argument("a budget of {} bytes", bytes);
  if (contexts_.use_count() > 1)
    return make_error(Code::kInvalidState, "{} contexts of the engine exist: set the budget before the first",
                      contexts_.use_count() - 1);
  return info_->core_ptr()->set_weight_budget(static_cast<size_t>(std::min(bytes, streamable_)));
}

bool EngineImpl::setWeightStreamingBudgetV2(int64_t gpuMemoryBudget) noexcept {
  return attempt(reporter_, "ICudaEngine::setWeightStreamingBudgetV2", [&] { return set_budget(gpuMemoryBudget); });
}

int64_t EngineImpl::getWeightStreamingBudgetV2() const noexcept {
  const EngineCore& core = info_->core();
  return core.streams_weights() ? static_cast<int64_t>(core.residency().budget) : streamable_;
}

// What is free, less what a context and weights on their way need, and a part that is left to others.
int64_t EngineImpl::getWeightStreamingAutomaticBudget() const noexcept {
  if (streamable_ == 0) return 0;
  constexpr int64_t kOthers = 20;  // one part of so many
  const Result<size_t> known = info_->core().device().free_memory();
  if (!known.ok()) return streamable_;
  const auto free = static_cast<int64_t>(*known);
  const auto own = static_cast<int64_t>(info_->largest_memory()) + getMinimumWeightStreamingBudget();
  return std::clamp<int64_t>(free - free / kOthers - own, 0, streamable_);
}

int64_t EngineImpl::getWeightStreamingScratchMemorySize() const noexcept {
  return static_cast<int64_t>(weight_scratch());
}

// With the scratch memory of an engine that streams all: version 1 counted it in.
int64_t EngineImpl::getMinimumWeightStreamingBudget() const noexcept {
  if (streamable_ == 0) return 0;
  return static_cast<int64_t>(scratch_of(info_->core(), plan_residency(info_->program(), 0)));
}

bool EngineImpl::setWeightStreamingBudget(int64_t gpuMemoryBudget) noexcept {
  if (gpuMemoryBudget == -1 && streamable_ == 0) return true;
  return attempt(reporter_, "ICudaEngine::setWeightStreamingBudget", [&]() -> Status {
    if (gpuMemoryBudget == -1) return set_budget(streamable_);
    if (gpuMemoryBudget == 0) return set_budget(getWeightStreamingAutomaticBudget());
    const int64_t least = getMinimumWeightStreamingBudget();
    if (gpuMemoryBudget < least)
      return invalid_argument("a budget of {} bytes, at least {} are needed, -1 for all, or 0 for what is free",
                              gpuMemoryBudget, least);
    return set_budget(gpuMemoryBudget - least);
  });
}

int64_t EngineImpl::getWeightStreamingBudget() const noexcept {
  const EngineCore& core = info_->core();
  if (!core.streams_weights()) return -1;
  return static_cast<int64_t>(core.residency().budget) + getMinimumWeightStreamingBudget();
}

}  // namespace wootz::api
