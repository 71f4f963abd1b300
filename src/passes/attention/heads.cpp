#include "passes/attention/heads.h"

#include <algorithm>

#include "ops/infer.h"
#include "ops/registry.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

constexpr int kMaxSteps = 24;  // how far an operand is followed

bool by_path(const Atom& a, const Atom& b) { return a.path < b.path; }

// What the atoms of one value say about it as an operand.
struct Reading {
  std::vector<Atom> order;  // major to minor, extents of 1 left out
  std::vector<Atom> leads;  // by path
  const Atom *batch = nullptr, *heads = nullptr;
};

// Which leading atom is the batch, which the heads. `four`: the operand had both axes. A single one is the heads when
// its extent is known.
std::optional<Reading> read_axes(const Axes& axes, const std::vector<Atom>& dropped, bool four) {
  Reading r;
  for (const std::vector<Atom>& axis : axes)
    for (const Atom& atom : axis)
      if (!is_one(atom.full)) r.order.push_back(atom);
  for (const Atom& atom : r.order)
    if (atom.role == Atom::Role::kLead) r.leads.push_back(atom);
  std::sort(r.leads.begin(), r.leads.end(), by_path);
  for (const Atom& atom : r.leads) {
    const bool first = four ? atom.path[0] == 0 : r.leads.size() > 1 ? &atom == &r.leads[0] : !atom.full.is_const();
    const Atom** slot = first ? &r.batch : &r.heads;
    if (*slot != nullptr) return std::nullopt;
    *slot = &atom;
  }
  for (const Atom& atom : dropped) {  // a group of heads shares one: it comes after the heads that are there
    const bool of_heads = four ? atom.path[0] == 1 : atom.path != std::vector<int>{0};
    if (!is_one(atom.full) && (!of_heads || (r.heads != nullptr && !(r.heads->path < atom.path)))) return std::nullopt;
  }
  return r;
}

bool same_atom(const Atom& a, const Atom* b) { return b != nullptr && a.role == b->role && a.path == b->path; }

// The value as [batch, sequence, columns] or [sequence, batch, columns].
bool as_view(const Reading& r, Value* value, int64_t heads, int64_t size, HeadsOperand* out) {
  size_t at = 0;
  const auto whole = [&](size_t i) { return i < r.order.size() && !r.order[i].sliced; };
  const auto is_batch = [&](size_t i) { return whole(i) && same_atom(r.order[i], r.batch); };
  const auto is_sequence = [&](size_t i) { return whole(i) && r.order[i].role == Atom::Role::kSequence; };
  bool sequence_first = false;
  const bool has_sequence =
      std::any_of(r.order.begin(), r.order.end(), [](const Atom& a) { return a.role == Atom::Role::kSequence; });
  if (is_batch(at)) {
    ++at;
    if (has_sequence && !is_sequence(at++)) return false;
  } else {
    if (has_sequence && !is_sequence(at++)) return false;
    if (r.batch != nullptr) {
      if (!is_batch(at++)) return false;
      sequence_first = true;
    }
  }
  int64_t stride = 1, offset = 0, head_stride = size;
  for (size_t i = r.order.size(); i-- > at;) {
    const Atom& atom = r.order[i];
    if (!atom.full.is_const()) return false;
    if (atom.role == Atom::Role::kSize) {
      if (stride != 1) return false;
    } else if (same_atom(atom, r.heads)) {
      head_stride = stride;
    } else if (atom.role != Atom::Role::kFixed) {
      return false;
    }
    offset += atom.start * stride;
    stride *= atom.full.value();
  }
  if (stride < 1) return false;
  out->source = value;
  out->view = {offset, heads, size, head_stride, sequence_first};
  const Shape want =
      sequence_first ? Shape{out->sequence, out->batch, Dim(stride)} : Shape{out->batch, out->sequence, Dim(stride)};
  if (value->shape() == want) {
    out->reshape = false;
    return true;
  }
  const auto target = reshape_target(value->shape(), want);
  if (!target) return false;
  out->reshape = true;
  out->target = *target;
  return true;
}

// The value as [batch, heads, sequence, size], or with the last two exchanged.
bool as_plain(const Reading& r, Value* value, bool may_exchange, HeadsOperand* out) {
  std::vector<const Atom*> want;
  if (r.batch != nullptr) want.push_back(r.batch);
  if (r.heads != nullptr) want.push_back(r.heads);
  size_t at = 0;
  for (const Atom* atom : want)
    if (at >= r.order.size() || r.order[at].sliced || !same_atom(r.order[at++], atom)) return false;
  const auto is = [&](size_t i, Atom::Role role) {
    return i < r.order.size() && !r.order[i].sliced && r.order[i].role == role;
  };
  out->transposed = false;
  if (is(at, Atom::Role::kSequence)) {
    ++at;
    if (is(at, Atom::Role::kSize)) ++at;
  } else if (is(at, Atom::Role::kSize)) {
    ++at;
    if (is(at, Atom::Role::kSequence)) {
      if (!may_exchange) return false;
      out->transposed = true;
      ++at;
    }
  }
  if (at != r.order.size()) return false;
  out->source = value;
  out->view.clear();
  const Shape shape = out->transposed ? Shape{out->batch, out->heads, out->size, out->sequence}
                                      : Shape{out->batch, out->heads, out->sequence, out->size};
  out->reshape = !(value->shape() == shape);
  if (!out->reshape) return true;
  const auto target = reshape_target(value->shape(), shape);
  if (!target) return false;
  out->target = *target;
  return true;
}

Axes first_axes(const Shape& shape, bool transposed) {
  Axes axes(shape.size());
  const size_t lead = shape.size() - 2;
  for (size_t i = 0; i < lead; ++i) axes[i] = {{Atom::Role::kLead, {static_cast<int>(i)}, shape[i], shape[i]}};
  axes[lead] = {{transposed ? Atom::Role::kSize : Atom::Role::kSequence, {}, shape[lead], shape[lead]}};
  axes[lead + 1] = {{transposed ? Atom::Role::kSequence : Atom::Role::kSize, {}, shape[lead + 1], shape[lead + 1]}};
  return axes;
}

}  // namespace

std::optional<HeadsOperand> trace_operand(Value* operand, bool transposed, bool scaled) {
  if (operand->rank() != 3 && operand->rank() != 4) return std::nullopt;
  const bool four = operand->rank() == 4;
  Axes axes = first_axes(operand->shape(), transposed);
  std::vector<Atom> dropped;
  std::vector<Node*> passed;
  std::optional<HeadsOperand> best;
  double scale = 1;
  Value* value = operand;
  for (int step = 0; step < kMaxSteps; ++step) {
    if (const std::optional<Reading> r = read_axes(axes, dropped, four)) {
      HeadsOperand candidate;
      candidate.scale = scale;
      candidate.passed = passed;
      const size_t last = operand->shape().size() - 1;
      candidate.sequence = operand->shape()[transposed ? last : last - 1];
      candidate.size = operand->shape()[transposed ? last - 1 : last];
      if (r->batch != nullptr) candidate.batch = r->batch->full;
      if (r->heads != nullptr) candidate.heads = r->heads->used;
      const bool counted = candidate.heads.is_const() && candidate.size.is_const();
      if ((counted && as_view(*r, value, candidate.heads.value(), candidate.size.value(), &candidate)) ||
          as_plain(*r, value, transposed, &candidate))
        best = std::move(candidate);
    }
    Node* producer = value->producer();
    Value* before = step_back(value, scaled, &axes, &dropped, &scale);
    if (before == nullptr) break;
    passed.push_back(producer);
    value = before;
  }
  return best;
}

HeadsResult trace_result(Value* result, const Dim& batch, const Dim& heads) {
  HeadsResult best{result, 0, {}};
  Axes axes = first_axes(result->shape(), false);
  if (result->rank() == 3) {
    Atom b{Atom::Role::kLead, {0}, batch, batch}, h{Atom::Role::kLead, {1}, heads, heads};
    axes[0] = {b, h};
  }
  std::vector<Node*> passed;
  Value* value = result;
  for (int step = 0; step < kMaxSteps; ++step) {
    Node* user = only_user(value);
    if (user == nullptr || user->input(0) != value || user->num_outputs() != 1) break;
    Axes next = axes;
    if (user->is("Transpose")) {
      std::vector<int64_t> perm = user->attr_ints("perm");
      if (perm.empty())
        for (int i = value->rank(); i-- > 0;) perm.push_back(i);
      for (size_t i = 0; i < perm.size(); ++i) next[i] = axes[static_cast<size_t>(perm[i])];
    } else if (is_reshape(*user)) {
      std::optional<Axes> grouped = regroup(axes, value->shape(), user->output()->shape());
      if (!grouped) break;
      next = std::move(*grouped);
    } else {
      break;
    }
    axes = std::move(next);
    passed.push_back(user);
    value = user->output();
    std::string order;
    for (const std::vector<Atom>& axis : axes)
      for (const Atom& atom : axis)
        if (!is_one(atom.full))
          order += atom.role == Atom::Role::kSequence ? 's' : atom.role == Atom::Role::kSize ? 'd' : "bh"[atom.path[0]];
    // Letters of extents that are 1 are missing from every order alike.
    const auto reads = [&](const char* wanted) {
      std::string left;
      for (const char* c = wanted; *c != 0; ++c)
        if (order.find(*c) != std::string::npos) left += *c;
      return left == order;
    };
    const int64_t merged = reads("bshd") ? 1 : reads("sbhd") ? 2 : reads("bhsd") ? 0 : -1;
    if (merged >= 0) best = {value, merged, passed};
  }
  return best;
}

std::optional<std::vector<int64_t>> reshape_target(const Shape& from, const Shape& to) {
  std::vector<int64_t> target;
  bool inferred = false;
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i].is_const() && to[i].value() > 0) {
      target.push_back(to[i].value());
    } else if (i < from.size() && from[i] == to[i]) {
      target.push_back(0);
    } else if (!inferred) {
      inferred = true;
      target.push_back(-1);
    } else {
      return std::nullopt;
    }
  }
  return target;
}

Result<Value*> add_reshape(Graph& graph, Value* x, const std::vector<int64_t>& target, Node* before) {
  const Dims count{static_cast<int64_t>(target.size())};
  Value* shape = graph.add_constant(graph.unique_name("shape"), HostTensor::from<int64_t>(target, count));
  Node* node = graph.add_node(op("Reshape"), graph.unique_name("reshape"), {x, shape}, {}, 1, before);
  WOOTZ_RETURN_IF_ERROR(infer_node(*node));
  return node->output();
}

}  // namespace wootz
