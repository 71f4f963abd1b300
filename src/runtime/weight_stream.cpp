#include "runtime/weight_stream.h"

#include "base/mapped.h"

namespace wootz {

WeightStream::WeightStream(const EngineCore& engine) : engine_(engine) {
  const std::vector<StreamedWeight>& streamed = engine.residency().streamed;
  for (size_t w = 0; w < streamed.size(); ++w) {
    if (groups_.empty() || groups_.back().step != streamed[w].step) {
      groups_.emplace_back();
      groups_.back().step = streamed[w].step;
      groups_.back().after = streamed[w].after;
    }
    groups_.back().weights.push_back(w);
  }
}

Status WeightStream::prepare() {
  Device& device = engine_.device();
  if (device.host_memory()) return Status();
  WOOTZ_ASSIGN_OR_RETURN(copies_, device.create_stream());
  for (Group& group : groups_) {
    WOOTZ_ASSIGN_OR_RETURN(group.may_come, device.create_event());
    WOOTZ_ASSIGN_OR_RETURN(group.arrived, device.create_event());
  }
  return Status();
}

void WeightStream::begin(StepIndex first, Stream* stream, std::byte* scratch) {
  first_ = first;
  stream_ = stream;
  scratch_ = scratch;
  next_use_ = next_come_ = 0;
  while (next_use_ < groups_.size() && groups_[next_use_].step < first) ++next_use_;
  while (next_come_ < groups_.size() && groups_[next_come_].after < first) ++next_come_;
}

Status WeightStream::bring(Group& group) {
  if (copies_ == nullptr) {
    for (const size_t w : group.weights) expect_mapped(engine_.streamed_bytes(w));
    return Status();
  }
  // What was in their places is of steps that are on the stream already.
  const bool ordered = group.may_come != nullptr && group.arrived != nullptr;
  Stream& on = ordered ? *copies_ : *stream_;
  if (ordered) {
    WOOTZ_RETURN_IF_ERROR(stream_->record(*group.may_come));
    WOOTZ_RETURN_IF_ERROR(copies_->wait_for(*group.may_come));
  }
  for (const size_t w : group.weights) {
    const std::span<const std::byte> from = engine_.streamed_bytes(w);
    std::byte* const to = scratch_ + engine_.residency().streamed[w].offset;
    WOOTZ_RETURN_IF_ERROR(engine_.device().copy(to, from.data(), from.size(), &on).with_prefix("weights"));
  }
  return ordered ? copies_->record(*group.arrived) : Status();
}

Status WeightStream::before(StepIndex step) {
  for (; next_come_ < groups_.size() && groups_[next_come_].after == step; ++next_come_)
    WOOTZ_RETURN_IF_ERROR(bring(groups_[next_come_]));
  if (next_use_ >= groups_.size() || groups_[next_use_].step != step) return Status();
  const Group& group = groups_[next_use_++];
  return group.arrived != nullptr && group.after >= first_ ? stream_->wait_for(*group.arrived) : Status();
}

void WeightStream::after(StepIndex step) {
  if (copies_ != nullptr || next_use_ == 0 || groups_[next_use_ - 1].step != step) return;
  for (const size_t w : groups_[next_use_ - 1].weights) release_mapped(engine_.streamed_bytes(w));
}

Status WeightStream::end() {
  for (size_t g = next_use_; g < next_come_; ++g)
    if (groups_[g].arrived != nullptr && groups_[g].after >= first_)
      WOOTZ_RETURN_IF_ERROR(stream_->wait_for(*groups_[g].arrived));
  return Status();
}

}  // namespace wootz
