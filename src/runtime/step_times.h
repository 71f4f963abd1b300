// How long each step takes on a device with memory of its own, by marks in its streams: they are part of recordings, so
// that what is timed is what runs without it.
#pragma once

#include <memory>
#include <vector>

#include "backend/device.h"
#include "backend/indices.h"

namespace wootz {

// Not thread-safe.
class StepTimes {
 public:
  // Where steps are put on a stream, begin() before the first of the program's and after() once each is there.
  Status prepare(Device& device, size_t steps);
  Status begin(Stream& stream);
  Status after(StepIndex step, Stream& stream) { return stream.mark(*marks_[step.position() + 2]); }
  // Of the last run, in milliseconds; waits for it. What a mark itself takes is not part of a step.
  Status read(IndexedVector<StepIndex, float>* ms) const;

 private:
  std::vector<std::unique_ptr<Event>> marks_;  // two before the first step, one after each
};

}  // namespace wootz
