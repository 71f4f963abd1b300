// Everything about a program that depends on the shapes of one call: extents, where each tensor lives, bound kernels.
#pragma once

#include <memory>
#include <vector>

#include "backend/program.h"
#include "plan/storage.h"
#include "runtime/memory_report.h"
#include "runtime/stream_order.h"

namespace wootz {

class EngineCore;

// Where a tensor's bytes are.
enum class Place : uint8_t {
  kInput,
  kOutput,  // user's memory, index = io number
  kConstant,
  kArena,
  kShape,    // the context's shape-tensor buffer, offset
  kDynamic,  // extents known only while running: the context's own buffer for the tensor
};
struct Location {
  Place place = Place::kArena;
  int32_t index = -1;  // kInput / kOutput: io number; kConstant: constant; kDynamic: tensor whose buffer it is
  size_t offset = 0;   // bytes into it
};

struct ShapePlan {
  std::vector<int64_t> symbols;  // the key
  ShapeValues shapes;
  IndexedVector<TensorIndex, Dims> dims;  // meaningful where known
  IndexedVector<TensorIndex, uint8_t> known;
  IndexedVector<TensorIndex, Location> locations;
  IndexedVector<StepIndex, std::unique_ptr<Call>> calls;  // null for dynamic steps
  IndexedVector<StepIndex, uint8_t> dynamic;              // extents known only while running
  bool any_dynamic = false;
  size_t recordable_steps = 0;        // the first ones: up to one that is dynamic, or that waits for the device
  size_t surely_recordable = 0;       // of these, those before the first one whose recording may fail
  size_t arena_bytes = 0;             // activations
  size_t activation_lower_bound = 0;  // see MemoryPlan
  StreamOrder order;                  // one stream where steps are dynamic or cannot be recorded
  std::vector<size_t> workspace_at;   // by stream: where its workspace begins, after the arena
  size_t workspace_bytes = 0;         // of each stream the largest of any step; lies after the arena
  size_t shape_bytes = 0;             // all kShape tensors
  // What is known only while running: expressions in their order, and shape tensors with such a value.
  std::vector<ExpressionIndex> open_exprs;
  std::vector<TensorIndex> open_shape_tensors;
  StepKernels kernels;  // kept as long as the calls, where the engine may replace them

  // Where a step's workspace begins, from the beginning of the arena on.
  size_t workspace_of(StepIndex step) const {
    return arena_bytes + (order.streams == 1 ? 0 : workspace_at[order.stream[step]]);
  }
  // Weights on their way to their steps come last.
  size_t weights_at() const { return (arena_bytes + workspace_bytes + 255) & ~size_t{255}; }
  size_t weight_scratch = 0;
  size_t total_bytes() const {
    return weight_scratch == 0 ? arena_bytes + workspace_bytes : weights_at() + weight_scratch;
  }
};

// `with_calls` false: only sizes (memory reports), workspace as the plan states it.
Result<std::shared_ptr<ShapePlan>> make_shape_plan(const Program& program, const std::vector<int64_t>& symbols,
                                                   const StepKernels& kernels, bool with_calls,
                                                   MemoryReport* report = nullptr);

// Memory at these symbols, or at a profile's maximum: which may be no shape at all, so that only sizes are looked at.
// No `kernels`: an estimate, before tactics are chosen.
Result<MemoryReport> report_memory(const Program& program, const std::vector<int64_t>& symbols,
                                   const StepKernels& kernels);
Result<MemoryReport> report_memory(const Program& program, size_t profile, const StepKernels& kernels);

}  // namespace wootz
