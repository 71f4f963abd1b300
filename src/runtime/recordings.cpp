#include "runtime/recordings.h"

#include <algorithm>

namespace wootz {
namespace {

constexpr size_t kFewest = 4;  // steps: less is not worth recording, unless it is all
constexpr size_t kPlaces = 4;  // addresses of one plan that are known again

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
  entries_.push_front({plan, {}, false});
}

void Recordings::forget() {
  for (Entry& entry : entries_) entry.places.clear();
}

// Addresses are compared only when something pointed the steps anew.
Recordings::Place* Recordings::find(Entry& entry, const StepPointers& pointers) {
  std::list<Place>& places = entry.places;
  if (!places.empty() && places.front().version == pointers.version()) return &places.front();
  const auto found =
      std::find_if(places.begin(), places.end(), [&](const Place& p) { return p.addresses == pointers.now(); });
  if (found == places.end()) return nullptr;
  places.splice(places.begin(), places, found);
  places.front().version = pointers.version();
  return &places.front();
}

std::unique_ptr<Recording> Recordings::add(Entry& entry, const StepPointers& pointers) {
  std::list<Place>& places = entry.places;
  std::unique_ptr<Recording> free;
  if (places.size() >= kPlaces) {
    free = std::move(places.back().recording);
    places.pop_back();
  }
  if (free == nullptr && !places.empty()) free = std::move(places.front().recording);
  places.push_front({pointers.now(), pointers.version(), nullptr});
  return free;
}

Result<size_t> Recordings::replay(Device& device, Stream& stream, const StepPointers& pointers,
                                  FunctionRef<Status(Stream&, size_t steps)> work) {
  Entry& entry = entries_.front();
  const ShapePlan& plan = *entry.plan;
  size_t steps = entry.refused ? plan.surely_recordable : plan.recordable_steps;
  Place* place = find(entry, pointers);
  if (place == nullptr || place->recording == nullptr) {
    if (steps < kFewest && steps != plan.calls.size()) return size_t{0};
    std::unique_ptr<Recording> changed = place == nullptr ? add(entry, pointers) : nullptr;
    const auto put = [&](Stream& recorder) { return work(recorder, steps); };
    Result<std::unique_ptr<Recording>> made = device.record(stream, put, std::move(changed));
    // What a plugin does cannot be recorded, perhaps: it is run instead, which tells whether that was all.
    if (!made.ok() && !entry.refused && plan.surely_recordable < steps) {
      entry.refused = true;
      return replay(device, stream, pointers, work);
    }
    place = &entry.places.front();
    WOOTZ_ASSIGN_OR_RETURN(place->recording, std::move(made));
    if (place->recording == nullptr) return size_t{0};
  }
  WOOTZ_RETURN_IF_ERROR(place->recording->replay(stream));
  return steps;
}

}  // namespace wootz
