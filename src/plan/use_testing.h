// Does with a program what the runtime does before any kernel runs, and ends the process where that goes wrong. For
// programs that verify_program let pass: it shares no code with the verifier.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "backend/program.h"
#include "plan/memory_planner.h"

namespace wootz {

inline void require(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "a verified program is not sound: %s\n", what);
  std::abort();
}

inline int32_t bytes_of(const Program& p, int32_t tensor) {
  for (size_t hops = 0; p.tensors.at(static_cast<size_t>(tensor)).kind == TensorKind::kView; ++hops) {
    require(hops < p.tensors.size(), "views in a circle");
    tensor = p.tensors[static_cast<size_t>(tensor)].view_of;
  }
  return tensor;
}

// Shapes and memory at one binding of the symbols.
inline void use_at(const Program& p, const std::vector<int64_t>& symbols) {
  ShapeValues shapes;
  if (!evaluate_shapes(p, symbols, &shapes).ok()) return;
  std::vector<BufferLife> lives(p.tensors.size());
  std::vector<uint8_t> written(p.tensors.size(), 0);
  for (size_t t = 0; t < p.tensors.size(); ++t) {
    const std::optional<Dims> dims = tensor_dims(p.tensors[t], shapes);
    if (!dims || !checked_volume(dims->span()).ok()) continue;
    const size_t bytes = layout_bytes(p.tensors[t].layout, p.tensors[t].dtype, *dims);
    require(bytes != SIZE_MAX, "the size of a tensor within limits overflows");
    if (p.tensors[t].kind == TensorKind::kConstant)
      require(p.tensors[t].layout == Layout::kOpaque ||
                  p.constants.at(static_cast<size_t>(p.tensors[t].constant)).bytes >= bytes,
              "a constant is shorter than its tensor");
    if (p.tensors[t].kind == TensorKind::kIntermediate) lives[t].bytes = bytes;
  }
  for (size_t s = 0; s < p.steps.size(); ++s) {
    const Step& step = p.steps[s];
    require(step.inputs.size() == step.problem.inputs.size(), "operands without description");
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      if (step.inputs[i] < 0) continue;
      const auto root = static_cast<size_t>(bytes_of(p, step.inputs[i]));
      const TensorKind kind = p.tensors.at(root).kind;
      const bool made = kind == TensorKind::kIntermediate || kind == TensorKind::kOutput;
      require(!made || written[root], "a step reads what no step has written");
      require(step.problem.inputs[i].dtype == p.tensors[root].dtype, "a step reads another type than there is");
      lives[root].last = static_cast<int>(s);
    }
    for (const int32_t t : step.outputs) {
      if (t < 0) continue;
      const auto out = static_cast<size_t>(t);
      require(p.tensors.at(out).kind == TensorKind::kIntermediate || p.tensors[out].kind == TensorKind::kOutput,
              "a step writes what it must not");
      require(!std::exchange(written[out], 1), "two steps write one tensor");
      lives[out].first = lives[out].last = static_cast<int>(s);
    }
  }
  const MemoryPlan memory = plan_memory(lives);
  for (size_t a = 0; a < lives.size(); ++a)
    require(memory.offsets[a] + lives[a].bytes <= memory.arena_bytes, "a buffer beyond the arena");
  if (lives.size() > 200) return;
  for (size_t a = 0; a < lives.size(); ++a)
    for (size_t b = 0; b < a; ++b) {
      const bool at_once = lives[a].first <= lives[b].last && lives[b].first <= lives[a].last;
      const bool apart = memory.offsets[a] + lives[a].bytes <= memory.offsets[b] ||
                         memory.offsets[b] + lives[b].bytes <= memory.offsets[a];
      require(!at_once || apart || memory.arena_bytes >= kMostArenaBytes, "buffers overlap");
    }
}

inline void use_program(const Program& p) {
  std::vector<int64_t> symbols;
  for (const PlanProfile& profile : p.profiles)
    for (const auto end : {&SymbolRange::min, &SymbolRange::opt, &SymbolRange::max}) {
      symbols.clear();
      for (const SymbolRange& r : profile.symbols) symbols.push_back(r.*end);
      require(symbols.size() == p.symbols.size(), "a profile that misses symbols");
      use_at(p, symbols);
    }
  for (const PlanSymbol& symbol : p.symbols)
    require(static_cast<size_t>(symbol.tensor) < p.tensors.size(), "a symbol of no tensor");
  uint64_t sum = 0;  // every byte of the weights can be read
  for (const PlanConstant& c : p.constants)
    for (size_t i = 0; i < c.bytes; i += 64) sum += static_cast<uint8_t>(static_cast<const std::byte*>(c.data)[i]);
  [[maybe_unused]] volatile uint64_t sink = sum;
}

}  // namespace wootz
