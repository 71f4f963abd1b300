// The addresses of every step's operands, as calls take them.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/program.h"

namespace wootz {

class RunMemory;

// All addresses that one run's steps see: what a recording was made with.
struct StepAddresses {
  std::vector<const void*> inputs;  // of all steps, one after the other
  std::vector<void*> outputs;
  const void* activations = nullptr;
  bool operator==(const StepAddresses&) const = default;
};

class StepPointers {
 public:
  explicit StepPointers(const Program& program);
  // Looks all addresses up.
  void point(const Program& program, const RunMemory& memory);

  const void* const* inputs(StepIndex step) const { return now_.inputs.data() + first_[step].input; }
  void* const* outputs(StepIndex step) const { return now_.outputs.data() + first_[step].output; }
  const StepAddresses& now() const { return now_; }
  uint64_t version() const { return version_; }  // grows with each point()

 private:
  struct First {
    size_t input, output;
  };
  IndexedVector<StepIndex, First> first_;
  StepAddresses now_;
  uint64_t version_ = 0;
};

}  // namespace wootz
