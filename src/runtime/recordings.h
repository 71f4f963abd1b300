// What a context's device has recorded of its runs, by shapes.
#pragma once

#include <list>
#include <memory>

#include "backend/device.h"
#include "base/function_ref.h"
#include "runtime/shape_plan.h"
#include "runtime/step_pointers.h"

namespace wootz {

// The plans that ran on a device with memory of its own, each with the recording of its first steps where there is one.
// Not thread-safe.
class Recordings {
 public:
  explicit Recordings(size_t kept) : kept_(kept) {}

  // Notes that the plan runs. The least recently used one is dropped where there are too many.
  void use(const std::shared_ptr<const ShapePlan>& plan);
  bool knows(const ShapePlan& plan) const;

  // Of the plan used last: runs its first steps from a recording at these addresses, made by `work` where there is
  // none: it puts that many steps on the stream that it is handed. Gives how many were run; 0: nothing is recorded.
  // At new addresses the recording of the last ones is changed, which costs less than another; addresses that come
  // back, as where a program's outputs are in one of two buffers, get a recording of their own.
  Result<size_t> replay(Device& device, Stream& stream, const StepPointers& pointers,
                        FunctionRef<Status(Stream&, size_t steps)> work);
  void clear() { entries_.clear(); }
  // Makes them anew when they are next wanted: the steps are put on the stream in another way.
  void forget();

 private:
  // Addresses that a plan ran at. Without a recording, it went to other addresses since.
  struct Place {
    StepAddresses addresses;
    uint64_t version = 0;  // of the pointers that these addresses are known to be
    std::unique_ptr<Recording> recording;
  };
  struct Entry {
    std::shared_ptr<const ShapePlan> plan;
    std::list<Place> places;  // most recently used first
    bool refused = false;     // a step's recording failed: only those before it are recorded
  };
  // The place of these addresses, now the entry's first, or null.
  static Place* find(Entry& entry, const StepPointers& pointers);
  // Such a place where there was none, with the recording that is to be made another in its place, if any.
  static std::unique_ptr<Recording> add(Entry& entry, const StepPointers& pointers);

  size_t kept_;
  std::list<Entry> entries_;  // most recently used first
};

}  // namespace wootz
