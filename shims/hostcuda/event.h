// Events, and the handles of streams and events.
#pragma once

#include <memory>
#include <mutex>

#include "handles.h"
#include "queue.h"

namespace wootz::hostcuda {

class Event {
 public:
  explicit Event(unsigned with_flags) : flags(with_flags) {}
  std::shared_ptr<Mark> last() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return last_;
  }
  void set(std::shared_ptr<Mark> mark) {
    const std::lock_guard<std::mutex> lock(mutex_);
    last_ = std::move(mark);
  }
  const unsigned flags;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<Mark> last_;  // null: never recorded
};

using Streams = Handles<Queue, cudaStream_t>;
using Events = Handles<Event, cudaEvent_t>;

}  // namespace wootz::hostcuda
