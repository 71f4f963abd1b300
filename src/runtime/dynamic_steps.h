// Steps whose extents are known only while running.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "backend/plugin.h"
#include "runtime/bindings.h"
#include "runtime/run_memory.h"

namespace wootz {

// What a program with data-dependent sizes needs beyond its ShapePlan: extents found while running, and calls bound to
// them. Not thread-safe.
class DynamicSteps {
 public:
  // Where one run of steps happens.
  struct Run {
    const Bindings& bindings;
    RunMemory& memory;
    Stream* stream;
    KernelState* state = nullptr;  // of the step's kernel
  };

  explicit DynamicSteps(std::shared_ptr<const EngineCore> engine);

  // The beginning of a run: what the plan knows, and nothing else.
  void start(std::shared_ptr<const ShapePlan> plan);
  // Runs one step: its operands' extents are known by now, those of its results when it has run.
  Status run(StepIndex step, const Run& run);
  // Extents of a tensor, as far as steps of this run found them.
  std::optional<Dims> dims(TensorIndex tensor) const;

 private:
  // A kernel bound to extents.
  struct Bound {
    std::vector<Dims> in, out;
    std::unique_ptr<Call> call;
  };
  // The step at hand. Kept from step to step for its memory.
  struct Operands {
    std::vector<Dims> in;
    std::vector<const void*> inputs, constants;
    std::vector<size_t> constant_bytes;
    void clear();
  };
  struct Results {
    std::vector<Dims> dims;      // known before the step runs, or empty
    std::vector<uint8_t> known;  // before the step runs
    std::vector<void*> memory;   // of those
    std::vector<Dims> made;      // as the step made them
    std::vector<uint8_t> is_made;
    void clear();
  };
  class Allocator;

  const Program& program() const { return engine_->program(); }
  const PlanTensor& tensor(TensorIndex t) const { return program().tensors[t]; }
  Status gather_operands(const Step& step, const Run& run);
  Status place_results(const Step& step, const Run& run);
  void* place(TensorIndex tensor, const Dims& dims, const Run& run);
  Status check_view(TensorIndex tensor, const Dims& dims) const;
  Result<const Call*> bind(StepIndex step);
  Status learn(StepIndex step, const Run& run);
  Status evaluate_open();
  Status check_results(const Step& step) const;

  std::shared_ptr<const EngineCore> engine_;
  IndexedVector<StepIndex, std::vector<SymbolIndex>> finds_;  // the data-dependent symbols whose values it finds
  IndexedVector<StepIndex, std::list<Bound>> bound_;          // what it was bound to, most recent first

  // Of the run at hand.
  std::shared_ptr<const ShapePlan> plan_;
  std::vector<int64_t> symbols_;
  ShapeValues shapes_;
  std::vector<ExpressionIndex> open_;  // expressions that are not known yet
  Operands operands_;
  Results results_;
};

}  // namespace wootz
