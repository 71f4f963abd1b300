// Brings streamed weights in while a context runs its steps, one group ahead, and lets them go again.
#pragma once

#include <memory>
#include <vector>

#include "backend/device.h"
#include "runtime/engine_core.h"

namespace wootz {

// On the host, pages of a file are asked for and given back. On a device with memory of its own, a stream of this
// object's copies into the context's memory beside the steps, ordered by events; what is put there can be recorded. Not
// thread-safe; steps run in their order.
class WeightStream {
 public:
  explicit WeightStream(const EngineCore& engine);
  Status prepare();  // streams and events, where the device has them

  // A run of steps from `first` on `stream` begins; weights that began to come before it are there. `scratch`: the
  // context's memory for weights on their way.
  void begin(StepIndex first, Stream* stream, std::byte* scratch);
  Status before(StepIndex step);
  void after(StepIndex step);
  // No step follows in this run: the stream waits for all that was brought.
  Status end();

 private:
  // Weights of one step.
  struct Group {
    StepIndex step, after;
    std::vector<size_t> weights;  // numbers in WeightResidency::streamed
    std::unique_ptr<Event> may_come, arrived;
  };
  Status bring(Group& group);

  const EngineCore& engine_;
  std::vector<Group> groups_;            // by step
  std::unique_ptr<Stream> copies_;       // null: the host's own memory
  size_t next_use_ = 0, next_come_ = 0;  // groups
  StepIndex first_;
  Stream* stream_ = nullptr;
  std::byte* scratch_ = nullptr;
};

}  // namespace wootz
