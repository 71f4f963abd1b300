// What is known to have happened, by a thread of a block or at a barrier: of each actor, up to which of its times.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace wootz::cuda {

// An actor is a thread; the copies, or the products, of a thread, whose times are groups of them; or a barrier, for
// what the unit for tensors writes, whose times are its turns.
class Actors {
 public:
  explicit Actors(unsigned threads = 0) : threads_(threads) {}
  unsigned thread(unsigned t) const { return t; }
  unsigned copies(unsigned t) const { return threads_ + t; }
  unsigned products(unsigned t) const { return 2 * threads_ + t; }
  unsigned barrier(unsigned number) const { return 3 * threads_ + number; }
  unsigned threads() const { return threads_; }
  // Writes that products and the unit for tensors see after a fence alone.
  bool needs_fence(unsigned actor) const { return actor < 2 * threads_; }

 private:
  unsigned threads_;
};

using Clock = std::vector<uint32_t>;  // by actor; what lies beyond its end is 0
using SharedClock = std::shared_ptr<const Clock>;

// A thread's: what it learned at barriers, which threads share, and its own three actors.
struct View {
  SharedClock learned;
  std::array<uint32_t, 3> own{};
  uint32_t of(const Actors& actors, unsigned thread, unsigned actor) const;
};

// A turn of a barrier: what those who arrive know.
class Meeting {
 public:
  void add(const Actors& actors, unsigned thread, const View& view);
  void add(unsigned actor, uint32_t time);
  SharedClock finish();  // and begins anew

 private:
  Clock clock_;
  SharedClock last_;  // is in it
};

// Both together.
SharedClock joined(const SharedClock& a, const SharedClock& b);

}  // namespace wootz::cuda
