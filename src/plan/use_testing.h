// Does with a program what the runtime does before any kernel runs, and ends the process where that goes wrong. For
// programs that verify_program let pass: it shares no code with the verifier.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>

#include "backend/program.h"
#include "backend/refit.h"
#include "plan/memory_planner.h"
#include "plan/storage.h"

namespace wootz {

inline void require(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "a verified program is not sound: %s\n", what);
  std::abort();
}

inline TensorIndex bytes_of(const Program& p, TensorIndex tensor) {
  for (size_t hops = 0; p.tensors.at(tensor).kind == TensorKind::kView; ++hops) {
    require(hops < p.tensors.size(), "views in a circle");
    tensor = p.tensors[tensor].view_of;
  }
  return tensor;
}

// Which bytes of each buffer have been written.
class Written {
 public:
  void write(TensorIndex root, size_t begin, size_t end) {
    if (begin == end) return;
    for (const auto& [from, to] : ranges_[root]) require(end <= from || to <= begin, "two steps write one byte");
    ranges_[root].insert({begin, end});
  }
  bool holds(TensorIndex root, size_t begin, size_t end) {
    for (const auto& [from, to] : ranges_[root])
      if (from <= begin) begin = std::max(begin, to);
    return begin >= end;
  }

 private:
  std::map<TensorIndex, std::set<std::pair<size_t, size_t>>> ranges_;
};

// A step wrote the tensor, or all that it is put together from.
inline bool is_made(const Program& p, const IndexedVector<TensorIndex, uint8_t>& stepped, TensorIndex t) {
  const std::vector<TensorIndex>& subviews = p.tensors[t].subviews;
  return stepped[t] != 0 || (!subviews.empty() && std::all_of(subviews.begin(), subviews.end(), [&](TensorIndex part) {
           return is_made(p, stepped, part);
         }));
}

// Shapes and memory at one binding of the symbols, as the runtime goes about it.
inline void use_at(const Program& p, const std::vector<int64_t>& symbols) {
  ShapeValues shapes;
  if (!evaluate_shapes(p, symbols, &shapes).ok()) return;
  IndexedVector<TensorIndex, Dims> all(p.tensors.size());
  IndexedVector<TensorIndex, uint8_t> known(p.tensors.size(), 0);
  for (const TensorIndex t : p.tensors.indices()) {
    const std::optional<Dims> dims = tensor_dims(p.tensors[t], shapes);
    if (!dims) continue;
    if (!checked_volume(dims->span()).ok()) return;
    all[t] = *dims;
    known[t] = 1;
    const size_t bytes = layout_bytes(p.tensors[t].layout, p.tensors[t].dtype, *dims);
    require(bytes != SIZE_MAX, "the size of a tensor within limits overflows");
    if (p.tensors[t].kind == TensorKind::kConstant)
      require(p.tensors[t].layout == Layout::kOpaque || p.constants.at(p.tensors[t].constant).bytes >= bytes,
              "a constant is shorter than its tensor");
  }
  for (const TensorIndex t : p.tensors.indices())  // what views something of unknown extents has no place yet
    if (known[t] && !known[bytes_of(p, t)]) known[t] = 0;
  require(find_storage(p, shapes, all, known, false).ok(), "sizes alone are refused");
  Result<Storage> found = find_storage(p, shapes, all, known, true);
  if (!found.ok()) return;
  const Storage& storage = *found;
  const auto bytes = [&](TensorIndex t) { return tensor_bytes(p.tensors[t], all[t]); };
  IndexedVector<TensorIndex, BufferLife> lives(p.tensors.size());
  IndexedVector<TensorIndex, uint8_t> stepped(p.tensors.size(), 0);
  Written written;
  for (const StepIndex s : p.steps.indices()) {
    const Step& step = p.steps[s];
    require(step.inputs.size() == step.problem.inputs.size(), "operands without description");
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      const TensorIndex t = step.inputs[i];
      if (!t.exists()) continue;
      const TensorIndex maker = bytes_of(p, t);
      const TensorIndex root = storage.root.at(t);
      const TensorKind kind = p.tensors.at(root).kind;
      require(step.problem.inputs[i].dtype == p.tensors[maker].dtype, "a step reads another type than there is");
      lives[root].last = s;
      if (kind != TensorKind::kIntermediate && kind != TensorKind::kOutput) continue;
      if (!known[t]) {
        require(is_made(p, stepped, maker), "a step reads what no step has written");
        continue;
      }
      const size_t begin = storage.offset[t];
      require(begin + bytes(t) <= storage.extent[root], "a tensor beyond its buffer");
      require(written.holds(root, begin, begin + bytes(t)), "a step reads bytes that no step has written");
    }
    for (const TensorIndex t : step.outputs) {
      if (!t.exists()) continue;
      const TensorIndex out = t, root = storage.root[out];
      require(p.tensors[root].kind == TensorKind::kIntermediate || p.tensors[root].kind == TensorKind::kOutput,
              "a step writes what it must not");
      require(!std::exchange(stepped[out], 1), "two steps write one tensor");
      if (known[out]) written.write(root, storage.offset[out], storage.offset[out] + bytes(t));
      if (lives[root].bytes == 0) lives[root].first = s;
      lives[root].bytes = storage.extent[root];
      lives[root].last = s;
    }
  }
  std::vector<BufferLife>& lifetimes = lives.items();
  for (BufferLife& life : lifetimes) life.last = std::max(life.first, life.last);
  const MemoryPlan memory = plan_memory(lifetimes);
  for (size_t a = 0; a < lifetimes.size(); ++a)
    require(memory.offsets[a] + lifetimes[a].bytes <= memory.arena_bytes, "a buffer beyond the arena");
  if (lifetimes.size() > 200) return;
  for (size_t a = 0; a < lifetimes.size(); ++a)
    for (size_t b = 0; b < a; ++b) {
      const bool at_once = lifetimes[a].first <= lifetimes[b].last && lifetimes[b].first <= lifetimes[a].last;
      const bool apart = memory.offsets[a] + lifetimes[a].bytes <= memory.offsets[b] ||
                         memory.offsets[b] + lifetimes[b].bytes <= memory.offsets[a];
      require(!at_once || apart || lifetimes[a].bytes == 0 || lifetimes[b].bytes == 0 ||
                  memory.arena_bytes >= kMostArenaBytes,
              "buffers overlap");
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
  for (const PlanSymbol& symbol : p.symbols) require(p.tensors.has(symbol.tensor), "a symbol of no tensor");
  uint64_t sum = 0;  // every byte of the weights can be read
  for (const PlanConstant& c : p.constants)
    for (size_t i = 0; i < c.bytes && !p.stripped; i += 64)
      sum += static_cast<uint8_t>(static_cast<const std::byte*>(c.data)[i]);
  if (p.refit != nullptr)
    for (const RefitConstant& c : p.refit->constants)
      for (size_t i = 0; i < c.bytes && !c.stripped; i += 64)
        sum += static_cast<uint8_t>(static_cast<const std::byte*>(c.data)[i]);
  [[maybe_unused]] volatile uint64_t sink = sum;
  for (const Program& body : p.bodies) use_program(body);
}

}  // namespace wootz
