#include "runtime/recordings.h"

#include <algorithm>

namespace wootz {
namespace {

constexpr size_t kFewest = 4;  // steps: less is not worth recording, unless it is all

}  // namespace

bool Recordings::knows(const ShapePlan& plan) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.plan.get() == &plan; });
}

void Recordings::use(const std::shared_ptr<const ShapePlan>& plan) {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.plan == plan; });
  if (found != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, found);
    return;
  }
  if (entries_.size() >= kept_) entries_.pop_back();
  entries_.push_front({plan, {}, 0, nullptr, false});
}

void Recordings::forget() {
  for (Entry& entry : entries_) entry.recording.reset();
}

// Addresses are compared only when something pointed the steps anew.
bool Recordings::fits(Entry& entry, const StepPointers& pointers) {
  if (entry.recording == nullptr) return false;
  if (entry.version == pointers.version()) return true;
  if (!(entry.addresses == pointers.now())) return false;
  entry.version = pointers.version();
  return true;
}

Result<size_t> Recordings::replay(Device& device, Stream& stream, const StepPointers& pointers,
                                  FunctionRef<Status(Stream&, size_t steps)> work) {
  Entry& entry = entries_.front();
  const ShapePlan& plan = *entry.plan;
  size_t steps = entry.refused ? plan.surely_recordable : plan.recordable_steps;
  if (!fits(entry, pointers)) {
    if (steps < kFewest && steps != plan.calls.size()) return size_t{0};
    const auto put = [&](Stream& recorder) { return work(recorder, steps); };
    Result<std::unique_ptr<Recording>> made = device.record(stream, put, std::move(entry.recording));
    // What a plugin does cannot be recorded, perhaps: it is run instead, which tells whether that was all.
    if (!made.ok() && !entry.refused && plan.surely_recordable < steps) {
      entry.refused = true;
      return replay(device, stream, pointers, work);
    }
    WOOTZ_ASSIGN_OR_RETURN(entry.recording, std::move(made));
    if (entry.recording == nullptr) return size_t{0};
    entry.addresses = pointers.now();
    entry.version = pointers.version();
  }
  WOOTZ_RETURN_IF_ERROR(entry.recording->replay(stream));
  return steps;
}

}  // namespace wootz
