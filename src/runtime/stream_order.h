// Steps of one program on several streams of a device: which step waits for which, and which may run concurrently.
//
// Steps are put on their streams in the order of the program. A step that uses a result of another stream waits for the
// event recorded after the step that makes it, unless something it waits for already did. The rest is vector clocks:
// for every step and stream, the last step there that has ended before this one begins.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace wootz {

struct StreamOrder {
  static constexpr int32_t kBegin = 0;  // the event at the very beginning, of the first stream
  size_t streams = 1;                   // used; with 1 what follows is empty, and each step follows the one before it
  size_t events = 0;                    // recorded in one run
  std::vector<int32_t> record;          // by step: the event recorded after it; -1: none
  std::vector<std::vector<int32_t>> waits;  // by step: events its stream waits for before it
  std::vector<int32_t> joins;               // events that the first stream waits for after the last step
  std::vector<uint8_t> stream;              // by step
  std::vector<int32_t> ended;               // by step and stream: see before()
  std::vector<int32_t> concurrent;          // by step: the last step that may run while it does; itself: none after it

  // `a` has ended when `b` begins. For steps in the order of the program: a < b.
  bool before(size_t a, size_t b) const {
    return streams == 1 || ended[b * streams + stream[a]] >= static_cast<int32_t>(a);
  }
  size_t last_concurrent(size_t step) const { return streams == 1 ? step : static_cast<size_t>(concurrent[step]); }
};

// `stream` by step; `needs` by step: steps before it whose results it uses.
StreamOrder order_streams(std::span<const uint8_t> stream, std::span<const std::vector<int32_t>> needs);

}  // namespace wootz
