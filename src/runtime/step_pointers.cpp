#include "runtime/step_pointers.h"

#include "runtime/run_memory.h"

namespace wootz {

StepPointers::StepPointers(const Program& program) {
  First next{0, 0};
  for (const Step& step : program.steps) {
    first_.push_back(next);
    next.input += step.inputs.size();
    next.output += step.outputs.size();
  }
  now_.inputs.assign(next.input, nullptr);
  now_.outputs.assign(next.output, nullptr);
}

void StepPointers::point(const Program& program, const RunMemory& memory) {
  const void** input = now_.inputs.data();
  void** output = now_.outputs.data();
  for (const Step& step : program.steps) {
    for (const TensorIndex t : step.inputs) *input++ = !t.exists() ? nullptr : memory.address(t);
    for (const TensorIndex t : step.outputs) *output++ = !t.exists() ? nullptr : memory.address(t);
  }
  now_.activations = memory.activations();
  ++version_;
}

}  // namespace wootz
