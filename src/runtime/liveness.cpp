#include "runtime/liveness.h"

#include <algorithm>

namespace wootz {
namespace {

// A result that takes over an operand's memory gets its root. What is in the result's buffer (a view of it) still
// names the result, and the result names the operand's: one more look. It never takes two: an operand's root was
// settled when the step that writes it was looked at.
class Sharing {
 public:
  Sharing(const Program& program, const StreamOrder& order, Liveness* liveness)
      : program_(program), order_(order), liveness_(*liveness) {
    if (order.streams == 1) return;
    users_.resize(program.tensors.size());
    for (const StepIndex s : program.steps.indices())
      for (const std::vector<TensorIndex>* list : {&program.steps[s].inputs, &program.steps[s].outputs})
        for (const TensorIndex t : *list)
          if (t.exists()) users_[root_of(t)].push_back(s);
  }

  TensorIndex root(TensorIndex tensor) const { return root_of(root_of(tensor)); }

  // The step may write its result over an operand that no step reads afterwards and that is all of its buffer.
  void share(StepIndex s, const Kernel& kernel) {
    const Step& step = program_.steps[s];
    for (size_t o = 0; o < step.outputs.size(); ++o) {
      const TensorIndex out = step.outputs[o];
      if (!out.exists() || !own_buffer(out)) continue;
      const int i = kernel.in_place(static_cast<int>(o));
      if (i < 0 || static_cast<size_t>(i) >= step.inputs.size()) continue;
      const TensorIndex in = step.inputs[static_cast<size_t>(i)];
      if (!in.exists() || !may_be_overwritten(step, in, s, extent(out))) continue;
      const TensorIndex to = root(in);
      liveness_.storage.root[out] = to;
      liveness_.last[to] = std::max(liveness_.last[to], liveness_.last[out]);
      if (!users_.empty()) users_[to].insert(users_[to].end(), users_[out].begin(), users_[out].end());
    }
  }

 private:
  TensorIndex root_of(TensorIndex tensor) const { return liveness_.storage.root[tensor]; }
  size_t extent(TensorIndex tensor) const { return liveness_.storage.extent[tensor]; }
  bool own_buffer(TensorIndex tensor) const {
    return program_.tensors[tensor].kind == TensorKind::kIntermediate && root(tensor) == tensor;
  }
  bool may_be_overwritten(const Step& step, TensorIndex in, StepIndex s, size_t bytes) const {
    const TensorIndex buffer = root(in);
    if (program_.tensors[buffer].kind != TensorKind::kIntermediate || liveness_.last[buffer] != s) return false;
    if (bytes == 0 || extent(buffer) != bytes || extent(in) != bytes) return false;
    if (!users_.empty() && !std::all_of(users_[buffer].begin(), users_[buffer].end(),
                                        [&](StepIndex user) { return user == s || order_.before(user, s); }))
      return false;
    const auto same = [&](TensorIndex t) { return t.exists() && root(t) == buffer; };
    return std::count_if(step.inputs.begin(), step.inputs.end(), same) == 1 &&
           std::none_of(step.outputs.begin(), step.outputs.end(), same);
  }

  const Program& program_;
  const StreamOrder& order_;
  Liveness& liveness_;
  IndexedVector<TensorIndex, std::vector<StepIndex>>
      users_;  // of a root; empty where each step follows the one before it
};

}  // namespace

StepNeeds step_needs(const Program& program, const Storage& storage) {
  IndexedVector<TensorIndex, std::vector<StepIndex>> writers(program.tensors.size());
  StepNeeds needs(program.steps.size());
  for (const StepIndex s : program.steps.indices()) {
    const Step& step = program.steps[s];
    for (const TensorIndex t : step.inputs) {
      if (!t.exists()) continue;
      const std::vector<StepIndex>& made = writers[storage.root[t]];
      needs[s].insert(needs[s].end(), made.begin(), made.end());
    }
    std::sort(needs[s].begin(), needs[s].end());
    needs[s].erase(std::unique(needs[s].begin(), needs[s].end()), needs[s].end());
    for (const TensorIndex t : step.outputs)
      if (t.exists()) writers[storage.root[t]].push_back(s);
  }
  return needs;
}

Liveness find_liveness(const Program& program, Storage storage, const StepKernels& kernels,
                       const IndexedVector<StepIndex, uint8_t>& dynamic, const StreamOrder& order) {
  Liveness liveness;
  liveness.storage = std::move(storage);
  liveness.first.resize(program.tensors.size());
  liveness.last.resize(program.tensors.size());
  for (const StepIndex s : program.steps.indices()) {
    const auto use = [&](TensorIndex t) {
      if (t.exists()) liveness.last[liveness.storage.root[t]] = s;
    };
    for (const TensorIndex t : program.steps[s].inputs) use(t);
    for (const TensorIndex t : program.steps[s].outputs) {
      use(t);
      if (!t.exists()) continue;
      StepIndex& first = liveness.first[liveness.storage.root[t]];
      if (!first.exists()) first = s;
    }
  }
  if (!kernels.empty()) {
    Sharing sharing(program, order, &liveness);
    for (const StepIndex s : program.steps.indices())
      if (!dynamic[s]) sharing.share(s, *kernels[s]);
    for (const TensorIndex t : program.tensors.indices()) liveness.storage.root[t] = sharing.root(t);
  }
  if (order.streams == 1) return liveness;
  for (const StepIndex s : program.steps.indices())
    for (const std::vector<TensorIndex>* list : {&program.steps[s].inputs, &program.steps[s].outputs})
      for (const TensorIndex t : *list)
        if (t.exists()) {
          StepIndex& last = liveness.last[liveness.storage.root[t]];
          last = std::max(last, order.last_concurrent(s));
        }
  return liveness;
}

std::vector<ArenaBuffer> arena_buffers(const Program& program, const Liveness& liveness,
                                       const IndexedVector<TensorIndex, uint8_t>& known) {
  std::vector<ArenaBuffer> buffers;
  for (const TensorIndex t : program.tensors.indices()) {
    if (program.tensors[t].kind != TensorKind::kIntermediate || liveness.storage.root[t] != t) continue;
    if (!known[t] || !liveness.first[t].exists()) continue;
    buffers.push_back({t, {liveness.storage.extent[t], liveness.first[t], liveness.last[t]}});
  }
  return buffers;
}

}  // namespace wootz
