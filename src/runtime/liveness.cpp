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
    for (size_t s = 0; s < program.steps.size(); ++s)
      for (const std::vector<int32_t>* list : {&program.steps[s].inputs, &program.steps[s].outputs})
        for (const int32_t t : *list)
          if (t >= 0) users_[static_cast<size_t>(root_of(t))].push_back(s);
  }

  int32_t root(int32_t tensor) const { return root_of(root_of(tensor)); }

  // The step may write its result over an operand that no step reads afterwards and that is all of its buffer.
  void share(size_t s, const Kernel& kernel) {
    const Step& step = program_.steps[s];
    for (size_t o = 0; o < step.outputs.size(); ++o) {
      const int32_t out = step.outputs[o];
      if (out < 0 || !own_buffer(out)) continue;
      const int i = kernel.in_place(static_cast<int>(o));
      if (i < 0 || static_cast<size_t>(i) >= step.inputs.size()) continue;
      const int32_t in = step.inputs[static_cast<size_t>(i)];
      if (in < 0 || !may_be_overwritten(step, in, s, extent(out))) continue;
      const auto to = static_cast<size_t>(root(in));
      liveness_.storage.root[static_cast<size_t>(out)] = static_cast<int32_t>(to);
      liveness_.last[to] = std::max(liveness_.last[to], liveness_.last[static_cast<size_t>(out)]);
      if (!users_.empty())
        users_[to].insert(users_[to].end(), users_[static_cast<size_t>(out)].begin(),
                          users_[static_cast<size_t>(out)].end());
    }
  }

 private:
  int32_t root_of(int32_t tensor) const { return liveness_.storage.root[static_cast<size_t>(tensor)]; }
  size_t extent(int32_t tensor) const { return liveness_.storage.extent[static_cast<size_t>(tensor)]; }
  bool own_buffer(int32_t tensor) const {
    return program_.tensors[static_cast<size_t>(tensor)].kind == TensorKind::kIntermediate && root(tensor) == tensor;
  }
  bool may_be_overwritten(const Step& step, int32_t in, size_t s, size_t bytes) const {
    const int32_t buffer = root(in);
    const auto b = static_cast<size_t>(buffer);
    if (program_.tensors[b].kind != TensorKind::kIntermediate || liveness_.last[b] != static_cast<int>(s)) return false;
    if (bytes == 0 || extent(buffer) != bytes || extent(in) != bytes) return false;
    if (!users_.empty() && !std::all_of(users_[b].begin(), users_[b].end(),
                                        [&](size_t user) { return user == s || order_.before(user, s); }))
      return false;
    const auto same = [&](int32_t t) { return t >= 0 && root(t) == buffer; };
    return std::count_if(step.inputs.begin(), step.inputs.end(), same) == 1 &&
           std::none_of(step.outputs.begin(), step.outputs.end(), same);
  }

  const Program& program_;
  const StreamOrder& order_;
  Liveness& liveness_;
  std::vector<std::vector<size_t>> users_;  // by root; empty where each step follows the one before it
};

}  // namespace

std::vector<std::vector<int32_t>> step_needs(const Program& program, const Storage& storage) {
  std::vector<std::vector<int32_t>> writers(program.tensors.size()), needs(program.steps.size());
  for (size_t s = 0; s < program.steps.size(); ++s) {
    const Step& step = program.steps[s];
    for (const int32_t t : step.inputs) {
      if (t < 0) continue;
      const std::vector<int32_t>& made = writers[static_cast<size_t>(storage.root[static_cast<size_t>(t)])];
      needs[s].insert(needs[s].end(), made.begin(), made.end());
    }
    std::sort(needs[s].begin(), needs[s].end());
    needs[s].erase(std::unique(needs[s].begin(), needs[s].end()), needs[s].end());
    for (const int32_t t : step.outputs)
      if (t >= 0) writers[static_cast<size_t>(storage.root[static_cast<size_t>(t)])].push_back(static_cast<int32_t>(s));
  }
  return needs;
}

Liveness find_liveness(const Program& program, Storage storage,
                       const std::vector<std::shared_ptr<const Kernel>>& kernels, std::span<const uint8_t> dynamic,
                       const StreamOrder& order) {
  Liveness liveness;
  liveness.storage = std::move(storage);
  liveness.first.assign(program.tensors.size(), -1);
  liveness.last.assign(program.tensors.size(), -1);
  for (size_t s = 0; s < program.steps.size(); ++s) {
    const auto use = [&](int32_t t) {
      if (t >= 0)
        liveness.last[static_cast<size_t>(liveness.storage.root[static_cast<size_t>(t)])] = static_cast<int>(s);
    };
    for (const int32_t t : program.steps[s].inputs) use(t);
    for (const int32_t t : program.steps[s].outputs) {
      use(t);
      if (t < 0) continue;
      int& first = liveness.first[static_cast<size_t>(liveness.storage.root[static_cast<size_t>(t)])];
      if (first < 0) first = static_cast<int>(s);
    }
  }
  if (!kernels.empty()) {
    Sharing sharing(program, order, &liveness);
    for (size_t s = 0; s < program.steps.size(); ++s)
      if (!dynamic[s]) sharing.share(s, *kernels[s]);
    for (size_t t = 0; t < program.tensors.size(); ++t)
      liveness.storage.root[t] = sharing.root(static_cast<int32_t>(t));
  }
  if (order.streams == 1) return liveness;
  for (size_t s = 0; s < program.steps.size(); ++s)
    for (const std::vector<int32_t>* list : {&program.steps[s].inputs, &program.steps[s].outputs})
      for (const int32_t t : *list)
        if (t >= 0) {
          int& last = liveness.last[static_cast<size_t>(liveness.storage.root[static_cast<size_t>(t)])];
          last = std::max(last, static_cast<int>(order.last_concurrent(s)));
        }
  return liveness;
}

std::vector<ArenaBuffer> arena_buffers(const Program& program, const Liveness& liveness,
                                       const std::vector<uint8_t>& known) {
  std::vector<ArenaBuffer> buffers;
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    if (program.tensors[t].kind != TensorKind::kIntermediate || liveness.storage.root[t] != static_cast<int32_t>(t))
      continue;
    if (!known[t] || liveness.first[t] < 0) continue;
    buffers.push_back({static_cast<int32_t>(t), {liveness.storage.extent[t], liveness.first[t], liveness.last[t]}});
  }
  return buffers;
}

}  // namespace wootz
