// What a search for races keeps of a block's threads and barriers (races.cpp).
#pragma once

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "backends/cuda/emulator/clocks.h"

namespace wootz::cuda {

struct Thread {
  View known, fenced;  // `fenced`: what products and the unit for tensors see of it
  bool made = false;   // what the kernel ahead makes is there
  bool ended = false;
  bool by_products = false;           // reads for them
  uint32_t copies = 1, products = 1;  // the group that is being put together
  unsigned long cluster_turn = 0;     // of its barrier, to wait for
};

// A turn of a barrier, and what was known at the end of its last one.
struct Turn {
  Meeting known, fenced;
  SharedClock learned, learned_fenced;
  bool makes = false, made = false;
  unsigned arrived = 0;
  unsigned long number = 0;

  void arrive(const Actors& actors, unsigned t, const Thread& thread) {
    known.add(actors, t, thread.known);
    fenced.add(actors, t, thread.fenced);
    makes = makes || thread.made;
    ++arrived;
  }
  void end() {
    learned = known.finish();
    learned_fenced = fenced.finish();
    made = std::exchange(makes, false);
    arrived = 0;
    ++number;
  }
  void give(Thread* thread) const {
    thread->known.learned = joined(thread->known.learned, learned);
    thread->fenced.learned = joined(thread->fenced.learned, learned_fenced);
    thread->made = thread->made || made;
  }
};

// A barrier in shared memory, whose turns are waited for by their parity. Its actor's times are its turns: that of the
// one that goes on is what the unit for tensors writes meanwhile.
struct Bar {
  unsigned actor = 0, all = 0, left = 0;
  long pending = 0;  // bytes
  Turn meeting;

  uint32_t time() const { return static_cast<uint32_t>(meeting.number + 1); }
  bool is_over(unsigned parity) const { return meeting.number % 2 != parity; }
  // True: with that the turn is over.
  bool complete() {
    if (left != 0 || pending != 0) return false;
    meeting.known.add(actor, time());
    meeting.fenced.add(actor, time());
    meeting.end();
    left = all;
    return true;
  }
};

// Bytes on their way to shared memory by the unit for tensors, by the barrier that waits for them. They arrive when no
// thread goes on without them, those of one barrier at a time: the oldest, or any, as the unit keeps to no order.
class Copies {
 public:
  struct OfBar {
    Bar* bar = nullptr;
    long bytes = 0;
    const void* instruction = nullptr;  // that asked for the first
  };
  bool empty() const { return all_.empty(); }
  void clear() { all_.clear(); }
  OfBar* find(const Bar* bar) {
    const auto found = std::find_if(all_.begin(), all_.end(), [&](const OfBar& c) { return c.bar == bar; });
    return found == all_.end() ? nullptr : &*found;
  }
  void add(const OfBar& one) {
    if (OfBar* const same = find(one.bar); same != nullptr)
      same->bytes += one.bytes;
    else
      all_.push_back(one);
  }
  OfBar take() {
    const size_t i = order_() % 2 == 0 ? 0 : order_() % all_.size();
    const OfBar taken = all_[i];
    all_.erase(all_.begin() + static_cast<ptrdiff_t>(i));
    return taken;
  }

 private:
  std::vector<OfBar> all_;
  std::mt19937 order_;
};

}  // namespace wootz::cuda
