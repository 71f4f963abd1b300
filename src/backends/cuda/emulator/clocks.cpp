#include "backends/cuda/emulator/clocks.h"

#include <algorithm>
#include <utility>

namespace wootz::cuda {
namespace {

void join(const Clock& from, Clock* to) {
  if (to->size() < from.size()) to->resize(from.size());
  for (size_t i = 0; i < from.size(); ++i) (*to)[i] = std::max((*to)[i], from[i]);
}

}  // namespace

uint32_t View::of(const Actors& actors, unsigned thread, unsigned actor) const {
  for (unsigned i = 0; i < own.size(); ++i)
    if (actor == i * actors.threads() + thread) return own[i];
  return learned != nullptr && actor < learned->size() ? (*learned)[actor] : 0;
}

void Meeting::add(unsigned actor, uint32_t time) {
  if (time == 0) return;
  if (clock_.size() <= actor) clock_.resize(actor + 1);
  clock_[actor] = std::max(clock_[actor], time);
}

void Meeting::add(const Actors& actors, unsigned thread, const View& view) {
  if (view.learned != nullptr && view.learned != last_) join(*view.learned, &clock_);
  last_ = view.learned;
  add(actors.thread(thread), view.own[0]);
  add(actors.copies(thread), view.own[1]);
  add(actors.products(thread), view.own[2]);
}

SharedClock Meeting::finish() {
  last_.reset();
  return std::make_shared<const Clock>(std::exchange(clock_, {}));
}

SharedClock joined(const SharedClock& a, const SharedClock& b) {
  if (a == nullptr || a == b) return b;
  if (b == nullptr) return a;
  // Threads that waited together ask for the same.
  static SharedClock last_a, last_b, last;
  if (a != last_a || b != last_b) {
    Clock both = *a;
    join(*b, &both);
    last_a = a, last_b = b, last = std::make_shared<const Clock>(std::move(both));
  }
  return last;
}

}  // namespace wootz::cuda
