// Steps of one program on several streams of a device: which step waits for which, and which may run concurrently.
//
// Steps are put on their streams in the order of the program. A step that uses a result of another stream waits for the
// event recorded after the step that makes it, unless something it waits for already did. The rest is vector clocks:
// for every step and stream, the last step there that has ended before this one begins.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/indices.h"

namespace wootz {

using StepStreams = IndexedVector<StepIndex, uint8_t>;               // the stream of each step
using StepNeeds = IndexedVector<StepIndex, std::vector<StepIndex>>;  // steps before it whose results it uses

struct StreamOrder {
  static constexpr int32_t kBegin = 0;  // the event at the very beginning, of the first stream
  size_t streams = 1;                   // used; with 1 what follows is empty, and each step follows the one before it
  size_t events = 0;                    // recorded in one run
  IndexedVector<StepIndex, int32_t> record;              // the event recorded after it; -1: none
  IndexedVector<StepIndex, std::vector<int32_t>> waits;  // events its stream waits for before it
  std::vector<int32_t> joins;                            // events that the first stream waits for after the last step
  StepStreams stream;
  std::vector<StepIndex> ended;                    // by step and stream: see before()
  IndexedVector<StepIndex, StepIndex> concurrent;  // the last step that may run while it does; itself: none after it

  // `a` has ended when `b` begins. For steps in the order of the program: a < b.
  bool before(StepIndex a, StepIndex b) const { return streams == 1 || ended_before(b)[stream[a]] >= a; }
  // Of each stream the last step that has ended when `step` begins.
  const StepIndex* ended_before(StepIndex step) const { return ended.data() + step.position() * streams; }
  StepIndex* ended_before(StepIndex step) { return ended.data() + step.position() * streams; }
  StepIndex last_concurrent(StepIndex step) const { return streams == 1 ? step : concurrent[step]; }
};

StreamOrder order_streams(const StepStreams& stream, const StepNeeds& needs);

}  // namespace wootz
