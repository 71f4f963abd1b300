#include "passes/attention/heads_axes.h"

#include "ops/infer.h"
#include "passes/support/known_scalar.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

Dim product(const Shape& shape, size_t begin, size_t count) {
  Dim p(1);
  for (size_t i = 0; i < count; ++i) p = p * shape[begin + i];
  return p;
}

// `atom` as an outer part of extent `outer` and what is left.
bool split_atom(const Atom& atom, const Dim& outer, Atom* first, Atom* rest) {
  if (atom.sliced || atom.role == Atom::Role::kFixed || (outer.is_const() && outer.value() < 1)) return false;
  const Dim inner = floor_div(atom.full, outer);
  if (!(inner * outer == atom.full)) return false;
  *first = *rest = atom;
  first->full = first->used = outer;
  rest->full = rest->used = inner;
  first->path.push_back(0);
  rest->path.push_back(1);
  return true;
}

// Fills dimensions `to` with the atoms in order.
bool distribute(std::vector<Atom> atoms, const Shape& to, size_t begin, size_t count, Axes* out) {
  size_t next = 0;
  for (size_t i = begin; i < begin + count; ++i) {
    std::vector<Atom>& axis = (*out)[i];
    Dim have(1);
    while (!(have == to[i])) {
      if (next == atoms.size()) return false;
      const Dim more = have * atoms[next].full;
      const Dim left = floor_div(to[i], have);
      if (more == to[i] || (more.is_const() && to[i].is_const() && more.value() < to[i].value())) {
        axis.push_back(atoms[next++]);
        have = more;
        continue;
      }
      Atom first, rest;
      if (!(left * have == to[i])) return false;
      if (split_atom(atoms[next], left, &first, &rest) && !is_one(rest.full)) {
        axis.push_back(first);
        atoms[next] = rest;
        have = to[i];
        continue;
      }
      axis.push_back(atoms[next++]);  // symbols: larger or smaller is not known
      have = more;
    }
  }
  for (; next < atoms.size(); ++next) {
    if (!is_one(atoms[next].full)) return false;
    (*out)[begin + count - 1].push_back(atoms[next]);
  }
  return true;
}

std::optional<std::vector<int64_t>> known_ints(const Node& node, std::string_view attr, int input) {
  if (node.has_attr(attr)) return node.attr_ints(attr);
  const Value* v = node.input(input);
  if (v == nullptr || !v->is_constant()) return std::nullopt;
  std::vector<int64_t> values;
  for (int64_t i = 0; i < v->constant().volume(); ++i) values.push_back(v->constant().get_i64(i));
  return values;
}

// The index `at` of an axis of extent `full`, of which nothing else is used.
Atom only_index(const Dim& full, int64_t at) {
  Atom fixed;
  fixed.role = Atom::Role::kFixed;
  fixed.full = full;
  fixed.used = 1;
  fixed.sliced = true;
  fixed.start = at;
  return fixed;
}

// Takes [start, start + extent) of an axis of extent `full`. An axis without atoms has extent 1 after that.
bool take_part(std::vector<Atom>* axis, const Dim& full, int64_t start) {
  if (!full.is_const()) return false;
  if (axis->empty()) {
    axis->push_back(only_index(full, start));
    return true;
  }
  int64_t inner = 1;
  for (size_t i = 1; i < axis->size(); ++i) {
    if (!(*axis)[i].full.is_const()) return false;
    inner *= (*axis)[i].full.value();
  }
  Atom& outer = axis->front();
  if (outer.sliced || inner < 1 || full.value() % inner != 0 || start % inner != 0) return false;
  outer.full = full.value() / inner;
  outer.start += start / inner;
  outer.sliced = true;
  return true;
}

bool back_through_slice(const Node& node, Axes* axes) {
  const Shape &in = node.input(0)->shape(), &out = node.output()->shape();
  const auto starts = known_ints(node, "starts", 1), steps = known_ints(node, "steps", 4);
  auto along = known_ints(node, "axes", 3);
  if (!starts || (node.input(4) != nullptr && !steps)) return false;
  if (!along) {
    if (node.input(3) != nullptr) return false;
    along.emplace();
    for (size_t i = 0; i < starts->size(); ++i) along->push_back(static_cast<int64_t>(i));
  }
  for (size_t i = 0; i < along->size() && i < starts->size(); ++i) {
    const int64_t axis = (*along)[i] + ((*along)[i] < 0 ? static_cast<int64_t>(in.size()) : 0);
    if (axis < 0 || axis >= static_cast<int64_t>(in.size())) return false;
    const auto a = static_cast<size_t>(axis);
    if (steps && i < steps->size() && (*steps)[i] != 1) return false;
    if (in[a] == out[a]) continue;
    if (!in[a].is_const()) return false;
    const int64_t start = (*starts)[i] + ((*starts)[i] < 0 ? in[a].value() : 0);
    if (start < 0 || !take_part(&(*axes)[a], in[a], start)) return false;
  }
  return true;
}

bool back_through_split(const Node& node, int output, Axes* axes) {
  const Result<int> axis = normalize_axis(node.attr_int("axis", 0), node.input(0)->rank());
  if (!axis.ok()) return false;
  const auto a = static_cast<size_t>(*axis);
  Dim start(0);
  for (int o = 0; o < output; ++o) start = start + node.output(o)->shape()[a];
  return start.is_const() && take_part(&(*axes)[a], node.input(0)->shape()[a], start.value());
}

bool back_through_gather(const Node& node, Axes* axes) {
  const Value* index = node.input(1);
  const Result<int> axis = normalize_axis(node.attr_int("axis", 0), node.input(0)->rank());
  if (!axis.ok() || index == nullptr || !index->is_constant() || index->rank() > 1 || index->constant().volume() != 1)
    return false;
  const auto a = static_cast<size_t>(*axis);
  const Dim& extent = node.input(0)->shape()[a];
  if (!extent.is_const()) return false;
  const int64_t given = index->constant().get_i64(0), at = given < 0 ? given + extent.value() : given;
  if (at < 0 || at >= extent.value()) return false;
  if (index->rank() == 1) axes->erase(axes->begin() + *axis);
  axes->insert(axes->begin() + *axis, {only_index(extent, at)});
  return true;
}

bool back_through_expand(const Node& node, Axes* axes, std::vector<Atom>* dropped) {
  const Shape &in = node.input(0)->shape(), &out = node.output()->shape();
  if (in.size() != out.size()) return false;
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i] == out[i]) continue;
    if (!is_one(in[i])) return false;
    for (const Atom& atom : (*axes)[i]) {
      if (atom.role != Atom::Role::kLead || atom.sliced) return false;
      dropped->push_back(atom);
    }
    (*axes)[i].clear();
  }
  return true;
}

}  // namespace

bool is_one(const Dim& d) { return d.is_const() && d.value() == 1; }

Value* step_back(const Value* value, bool scaled, Axes* axes, std::vector<Atom>* dropped, double* scale) {
  const Node* node = value->producer();
  if (node == nullptr || node->has_attr("epilogue")) return nullptr;
  Value* x = node->input(0);
  Axes next = *axes;
  double factor = 1;
  if (is_reshape(*node)) {
    std::optional<Axes> grouped = regroup(*axes, value->shape(), x->shape());
    if (!grouped) return nullptr;
    next = std::move(*grouped);
  } else if (node->is("Transpose")) {
    std::vector<int64_t> perm = node->attr_ints("perm");
    if (perm.empty())
      for (int i = x->rank(); i-- > 0;) perm.push_back(i);
    for (size_t i = 0; i < perm.size(); ++i) next[static_cast<size_t>(perm[i])] = (*axes)[i];
  } else if (node->is("Slice")) {
    if (!back_through_slice(*node, &next)) return nullptr;
  } else if (node->is("Split")) {
    if (!back_through_split(*node, value->producer_index(), &next)) return nullptr;
  } else if (node->is("Gather")) {
    if (!back_through_gather(*node, &next)) return nullptr;
  } else if (node->is("Expand")) {
    if (!back_through_expand(*node, &next, dropped)) return nullptr;
  } else if (Value* inner = scaled ? scaled_value(*node, &factor) : nullptr) {
    *scale *= factor;
    x = inner;
  } else {
    return nullptr;
  }
  *axes = std::move(next);
  return x;
}

std::optional<Axes> regroup(const Axes& axes, const Shape& from, const Shape& to) {
  Axes out(to.size());
  size_t i = 0, o = 0;
  while (i < from.size() || o < to.size()) {
    size_t best_a = 0, best_b = 0;
    for (size_t sum = 1; sum <= from.size() - i + to.size() - o && best_a + best_b == 0; ++sum)
      for (size_t a = 0; a <= sum && a <= from.size() - i; ++a) {
        const size_t b = sum - a;
        if (b > to.size() - o || !(product(from, i, a) == product(to, o, b))) continue;
        best_a = a;
        best_b = b;
        break;
      }
    if (best_a + best_b == 0) return std::nullopt;
    std::vector<Atom> atoms;
    for (size_t k = i; k < i + best_a; ++k) atoms.insert(atoms.end(), axes[k].begin(), axes[k].end());
    if (best_b > 0 && !distribute(std::move(atoms), to, o, best_b, &out)) return std::nullopt;
    i += best_a;
    o += best_b;
  }
  return out;
}

}  // namespace wootz
