#include "runtime/step_times.h"

#include <algorithm>

namespace wootz {

Status StepTimes::prepare(Device& device, size_t steps) {
  while (marks_.size() < steps + 2) {
    WOOTZ_ASSIGN_OR_RETURN(std::unique_ptr<Event> mark, device.create_event(/*tells_time=*/true));
    if (mark == nullptr) return unsupported("this device tells no times");
    marks_.push_back(std::move(mark));
  }
  return Status();
}

// Nothing is between the first two: the time from one to the other is that of a mark.
Status StepTimes::begin(Stream& stream) {
  WOOTZ_RETURN_IF_ERROR(stream.mark(*marks_[0]));
  return stream.mark(*marks_[1]);
}

Status StepTimes::read(IndexedVector<StepIndex, float>* ms) const {
  if (marks_.size() < 2) return Status();
  WOOTZ_RETURN_IF_ERROR(marks_.back()->wait());
  WOOTZ_ASSIGN_OR_RETURN(const double empty, marks_[1]->ms_since(*marks_[0]));
  for (const StepIndex s : ms->indices()) {
    const size_t mark = s.position() + 2;
    if (mark >= marks_.size()) break;
    WOOTZ_ASSIGN_OR_RETURN(const double taken, marks_[mark]->ms_since(*marks_[mark - 1]));
    (*ms)[s] = static_cast<float>(std::max(0.0, taken - empty));
  }
  return Status();
}

}  // namespace wootz
