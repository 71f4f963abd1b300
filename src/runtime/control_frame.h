// What one run of a control step works with, kept from run to run: executors of the bodies and buffers that grow.
#pragma once

#include "backend/control.h"
#include "base/function_ref.h"
#include "runtime/executor.h"
#include "runtime/growing_buffer.h"

namespace wootz {

// A body with the place for each of its results decided while it runs.
class BodyRun final : public OutputSink {
 public:
  // Where result `output` of these extents goes; null: nowhere, and `fail` says why.
  using PlaceFunction = FunctionRef<void*(size_t output, size_t bytes, const Dims& dims)>;

  explicit BodyRun(std::shared_ptr<const EngineCore> engine);
  Bindings& bindings() { return bindings_; }
  const Program& program() const { return executor_.engine().program(); }

  Status set_input(size_t input, const void* address, const Dims& dims);
  Status run(PlaceFunction place);
  // What result `output` of no round would be, for the inputs set last; a data-dependent extent is 0.
  Result<Dims> dims_of_none(size_t output);
  // The reason why a result got no place.
  void* fail(Status why) {
    why_ = std::move(why);
    return nullptr;
  }

  void* reallocate(int output, void* current, size_t bytes, const Dims& dims) override;

 private:
  Bindings bindings_;
  Executor executor_;
  const PlaceFunction* place_ = nullptr;
  Status why_;
};

struct Carried {
  const void* data = nullptr;
  Dims dims;
};

struct ControlFrame {
  ControlFrame(const std::vector<std::shared_ptr<const EngineCore>>& engines, Device& device, size_t states,
               size_t scans, size_t stacked);

  std::vector<std::unique_ptr<BodyRun>> bodies;
  std::vector<GrowingBuffer> states[2];  // a round reads one and writes the other
  std::vector<GrowingBuffer> sequences, stacks;
  std::vector<Carried> carried;
  int64_t round = 0;
  uint8_t going[2] = {1, 1};  // before a round, and as it says
};

}  // namespace wootz
