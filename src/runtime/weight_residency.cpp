#include "runtime/weight_residency.h"

#include <algorithm>

#include "backend/control.h"
#include "plan/memory_planner.h"

namespace wootz {
namespace {

constexpr size_t kLeast = 4096;  // bytes: of less, no page can be given back
constexpr size_t kAlign = 256;

constexpr StepIndex kNobody, kSeveral(-2);

ConstantIndex constant_of(const Program& program, TensorIndex tensor) {
  while (tensor.exists() && program.tensors[tensor].kind == TensorKind::kView) tensor = program.tensors[tensor].view_of;
  const bool is = tensor.exists() && program.tensors[tensor].kind == TensorKind::kConstant;
  return is ? program.tensors[tensor].constant : ConstantIndex();
}

// By constant the one step that reads it.
IndexedVector<ConstantIndex, StepIndex> readers(const Program& program) {
  IndexedVector<ConstantIndex, StepIndex> reader(program.constants.size(), kNobody);
  for (const StepIndex s : program.steps.indices())
    for (const TensorIndex t : program.steps[s].inputs) {
      const ConstantIndex c = constant_of(program, t);
      if (!c.exists()) continue;
      const bool other = reader[c] != kNobody && reader[c] != s;
      reader[c] = other || is_control(program.steps[s]) ? kSeveral : s;
    }
  return reader;
}

// In the order of their steps.
std::vector<StreamedWeight> streamable(const Program& program) {
  const IndexedVector<ConstantIndex, StepIndex> reader = readers(program);
  std::vector<StreamedWeight> weights;
  for (const ConstantIndex c : program.constants.indices())
    if (reader[c].exists() && program.constants[c].bytes >= kLeast) weights.push_back({c, reader[c], {}, 0});
  std::stable_sort(weights.begin(), weights.end(), [](const auto& a, const auto& b) { return a.step < b.step; });
  return weights;
}

// Those that stay are spread over the network, so that there is work between two that come.
std::vector<uint8_t> choose_resident(const Program& program, const std::vector<StreamedWeight>& weights,
                                     WeightResidency* residency) {
  std::vector<uint8_t> stays(weights.size(), 0);
  const auto bytes = [&](size_t w) { return program.constants[weights[w].constant].bytes; };
  size_t total = 0, seen = 0;
  for (size_t w = 0; w < weights.size(); ++w) total += bytes(w);
  const double share = total == 0 ? 0 : static_cast<double>(residency->budget) / static_cast<double>(total);
  const auto take = [&](size_t w) {
    stays[w] = 1;
    residency->resident += bytes(w);
  };
  for (size_t w = 0; w < weights.size(); ++w) {
    seen += bytes(w);
    if (static_cast<double>(residency->resident + bytes(w)) <= share * static_cast<double>(seen)) take(w);
  }
  for (size_t w = 0; w < weights.size(); ++w)  // what is left of the budget
    if (stays[w] == 0 && residency->resident + bytes(w) <= residency->budget) take(w);
  return stays;
}

// A weight has its place from when it begins to come to the end of its step.
void place_on_the_way(const Program& program, WeightResidency* residency) {
  std::vector<BufferLife> lives;
  StepIndex step(0), before(0);
  for (StreamedWeight& weight : residency->streamed) {
    if (weight.step != step) before = std::exchange(step, weight.step);
    weight.after = before;
    lives.push_back({program.constants[weight.constant].bytes, weight.after, weight.step});
  }
  const MemoryPlan plan = plan_memory(lives, kAlign);
  for (size_t w = 0; w < lives.size(); ++w) residency->streamed[w].offset = plan.offsets[w];
  residency->scratch = plan.arena_bytes;
}

}  // namespace

size_t streamable_bytes(const Program& program) {
  size_t bytes = 0;
  for (const StreamedWeight& weight : streamable(program)) bytes += program.constants[weight.constant].bytes;
  return bytes;
}

WeightResidency plan_residency(const Program& program, size_t budget) {
  WeightResidency residency;
  residency.budget = budget;
  residency.way = IndexedVector<ConstantIndex, int32_t>(program.constants.size(), -1);
  const std::vector<StreamedWeight> weights = streamable(program);
  const std::vector<uint8_t> stays = choose_resident(program, weights, &residency);
  for (size_t w = 0; w < weights.size(); ++w) {
    if (stays[w] != 0) continue;
    residency.way[weights[w].constant] = static_cast<int32_t>(residency.streamed.size());
    residency.streamed.push_back(weights[w]);
  }
  place_on_the_way(program, &residency);
  return residency;
}

}  // namespace wootz
