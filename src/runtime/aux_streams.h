// A context's auxiliary streams, and one run of its steps over them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backend/device.h"
#include "runtime/stream_order.h"

namespace wootz {

// Not thread-safe. After prepare() for an order, runs of it take no memory.
class AuxStreams {
 public:
  // Makes the streams and events that the order asks for and that are missing. A device without events gets none: then
  // steps follow each other on one stream, which any order allows.
  Status prepare(Device& device, const StreamOrder& order);
  bool ready(const StreamOrder& order) const {
    return order.streams > 1 && own_.size() + 1 >= order.streams && events_.size() >= order.events;
  }

  // One run: begin, then for each step in the order of the program before() and after(), then end. `main` is the first
  // stream; `given` are others to use, the missing ones are our own. Needs ready().
  Status begin(const StreamOrder& order, Stream& main, std::span<Stream* const> given);
  Result<Stream*> before(StepIndex step);  // where to put it
  Status after(StepIndex step);
  Status end();

 private:
  Stream& stream(size_t number) const;

  std::vector<std::unique_ptr<Stream>> own_;
  std::vector<std::unique_ptr<Event>> events_;  // by number, as in StreamOrder
  const StreamOrder* order_ = nullptr;          // of the run at hand
  Stream* main_ = nullptr;
  std::span<Stream* const> given_;
};

}  // namespace wootz
