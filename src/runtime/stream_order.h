// Steps of one program on several streams of a device: who waits for whom, and who may run beside whom.
//
// Steps are put on their streams in the order of the program. A step that uses a result of another stream waits for the
// mark behind the step that makes it, unless something it waits for already did. The rest is vector clocks: for every
// step and stream, the last step there that has ended before this one begins.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace wootz {

struct StreamOrder {
  static constexpr int32_t kBegin = 0;  // the mark at the very beginning, of the first stream
  size_t streams = 1;                   // used; with 1 what follows is empty, and each step follows the one before it
  size_t marks = 0;
  std::vector<int32_t> mark;                // by step: what is marked behind it; -1: nothing
  std::vector<std::vector<int32_t>> waits;  // by step: marks its stream waits for before it
  std::vector<int32_t> joins;               // marks that the first stream waits for behind the last step
  std::vector<uint8_t> stream;              // by step
  std::vector<int32_t> ended;               // by step and stream: see before()
  std::vector<int32_t> beside;              // by step: the last step that may run while it does; itself: none behind it

  // `a` has ended when `b` begins. For steps in the order of the program: a < b.
  bool before(size_t a, size_t b) const {
    return streams == 1 || ended[b * streams + stream[a]] >= static_cast<int32_t>(a);
  }
  size_t last_beside(size_t step) const { return streams == 1 ? step : static_cast<size_t>(beside[step]); }
};

// `stream` by step; `needs` by step: steps before it whose results it uses.
StreamOrder order_streams(std::span<const uint8_t> stream, std::span<const std::vector<int32_t>> needs);

}  // namespace wootz
