#include "onnx/fork_walk.h"

#include <algorithm>
#include <iterator>

#include "onnx/text.h"

namespace wootz::importer {
namespace {

constexpr int kMostForks = 256;     // of a model
constexpr size_t kMostLeaves = 16;  // branches of one fork and of those inside of it

void collect_leaves(Fork& fork, std::vector<ForkSide*>* leaves) {
  for (ForkSide& side : fork.sides) {
    if (!side.alive()) continue;
    if (side.inner != nullptr)
      collect_leaves(*side.inner, leaves);
    else
      leaves->push_back(&side);
  }
}

// Scopes for what is inside, in which the results go by their names outside.
void open_names(Fork& fork, Scope& outer, const std::vector<std::string_view>& outputs) {
  for (ForkSide& side : fork.sides) {
    if (!side.alive()) continue;
    side.names = std::make_unique<Scope>(side.graph.get(), &outer, &side.captured);
    if (side.inner != nullptr) {
      open_names(*side.inner, *side.names, outputs);
      continue;
    }
    for (size_t o = 0; o < outputs.size() && o < side.results.size(); ++o)
      if (!outputs[o].empty()) side.names->redefine(outputs[o], Slot::of(side.results[o]));
  }
}

// A fork none of whose branches can be computed cannot be either.
std::string cause(const Fork& fork) {
  std::string text;
  for (const ForkSide& side : fork.sides) {
    const std::string why = side.never ? "" : !side.dead.empty() ? side.dead : side.inner ? cause(*side.inner) : "";
    if (why.empty()) continue;
    text += (text.empty() ? "" : "; ") + why;
  }
  return text;
}

void bury(Fork& fork) {
  for (ForkSide& side : fork.sides) {
    if (!side.alive() || side.inner == nullptr) continue;
    bury(*side.inner);
    if (live_leaves(*side.inner).empty()) side.dead = cause(*side.inner);
  }
}

bool same_truth(const Value* a, const Value* b) {
  if (a == nullptr || a == b) return a != nullptr;
  const auto &x = a->shape_values(), &y = b->shape_values();
  return x && y && x->size() == 1 && y->size() == 1 && (*x)[0] == (*y)[0];
}

// What is known of a condition inside of the leaf: that of a fork around it has gone one way there. `condition` becomes
// what it is in the graph around the fork, where it is read from there.
std::optional<bool> known_inside(const Fork& fork, const ForkSide& leaf, const Value** condition) {
  for (int s = 0; s < 2; ++s) {
    const ForkSide& side = fork.sides[s];
    const Value* here = &side == &leaf ? *condition : nullptr;
    if (side.inner != nullptr && here == nullptr) {
      const Value* inner = *condition;
      if (const std::optional<bool> known = known_inside(*side.inner, leaf, &inner)) return known;
      here = inner == *condition ? nullptr : inner;
    }
    if (here == nullptr) continue;
    if (same_truth(here, fork.condition)) return s == 0;
    const auto& inputs = side.graph->inputs();
    const auto at = std::find(inputs.begin(), inputs.end(), here);
    if (at == inputs.end()) return std::nullopt;
    *condition = side.captured[static_cast<size_t>(at - inputs.begin())];
    if (same_truth(*condition, fork.condition)) return s == 0;
    return std::nullopt;
  }
  return std::nullopt;
}

std::string describe(const Value& v) {
  const Node* node = v.producer();
  const std::string by = node == nullptr ? "" : node->provenance().empty() ? node->name() : node->provenance().back();
  return fmt::format("{}{}{}", dtype_name(v.dtype()), shape_to_string(v.shape()),
                     by.empty() ? "" : fmt::format(" (node '{}')", printable(by)));
}

}  // namespace

std::vector<ForkSide*> live_leaves(Fork& fork) {
  std::vector<ForkSide*> leaves;
  collect_leaves(fork, &leaves);
  return leaves;
}

std::unique_ptr<Fork> NodeWalk::run(const NodeOrder& order) {
  for (const int i : order.sorted) work_.push_back({i, nullptr});
  for (size_t at = 0; at < work_.size() && !importer_.stopped_; ++at) {
    const Item item = work_[at];
    if (item.fork != nullptr) {
      resolve(*item.fork, at);
    } else if (item.node >= 0) {
      importer_.import_at(nodes_, item.node, scope_, frame_);
      if (importer_.made_fork_ != nullptr) schedule(std::move(importer_.made_fork_), at);
    }
  }
  return std::move(open_);
}

std::vector<std::string_view> NodeWalk::reads(const ::onnx::NodeProto& node) const {
  std::vector<std::string_view> names;
  importer_.topology_.reads(node, &names);
  return names;
}

// The items from there on that read one of these, or what such an item makes.
std::vector<size_t> NodeWalk::dependents(const std::set<std::string_view>& seeds, size_t from) const {
  std::set<std::string_view> names = seeds;
  std::vector<size_t> found;
  for (size_t k = from; k < work_.size(); ++k) {
    if (work_[k].node < 0) continue;
    const ::onnx::NodeProto& node = nodes_[work_[k].node];
    bool depends = false;
    for (const std::string_view name : reads(node)) depends = depends || names.contains(name);
    for (const std::string& name : node.output()) depends = depends || seeds.contains(name);
    if (!depends) continue;
    found.push_back(k);
    for (const std::string& name : node.output())
      if (!name.empty()) names.insert(name);
  }
  return found;
}

// What depends on the fork goes after what does not, with a mark between. Where that depends on an earlier fork too,
// the node becomes part of that one.
void NodeWalk::schedule(std::shared_ptr<Fork> fork, size_t at) {
  if (++importer_.forks_ > kMostForks) {
    poison(*fork);
    return importer_.stop(make_error(Code::kResourceExhausted,
                                     "more than {} Ifs whose branches give results of differing rank", kMostForks));
  }
  for (const std::string_view name : fork->outputs)
    if (!name.empty()) fork->seeds.insert(name);
  const std::vector<size_t> mine = dependents(fork->seeds, at + 1);
  size_t mark = 0;
  for (size_t k = at + 1; k < work_.size() && mark == 0; ++k) {
    if (work_[k].fork == nullptr) continue;
    const std::vector<size_t> theirs = dependents(work_[k].fork->seeds, k + 1);
    const bool meet = std::any_of(mine.begin(), mine.end(),
                                  [&](size_t m) { return std::binary_search(theirs.begin(), theirs.end(), m); });
    if (meet) mark = k;
  }
  std::vector<Item> before(work_.begin(), work_.begin() + static_cast<ptrdiff_t>(at) + 1), after;
  for (size_t k = at + 1; k < work_.size(); ++k) {
    const bool depends = std::binary_search(mine.begin(), mine.end(), k);
    if (mark == 0 || k < mark) {
      (depends ? after : before).push_back(work_[k]);
      continue;
    }
    before.push_back(work_[k]);
    if (k != mark) continue;
    work_[k].fork->seeds.insert(fork->seeds.begin(), fork->seeds.end());
    before.push_back(work_[at]);  // once more, inside
    before.insert(before.end(), after.begin(), after.end());
    after.clear();
  }
  if (mark == 0) before.push_back({-1, std::move(fork)});
  before.insert(before.end(), after.begin(), after.end());
  work_ = std::move(before);
}

void NodeWalk::poison(const Fork& fork) {
  for (const std::string_view name : fork.outputs)
    if (!name.empty() && scope_.own(name) == nullptr) scope_.define(name, Slot::poison());
}

void NodeWalk::resolve(Fork& fork, size_t at) {
  if (importer_.problems_.count() != 0) return poison(fork);
  mixed_.clear();
  made_inside_.clear();
  open_names(fork, scope_, fork.outputs);
  for (const std::string_view name : fork.outputs)
    if (!name.empty()) made_inside_.insert(name);
  find_mixed(fork, made_inside_);
  const std::vector<size_t> members = dependents(fork.seeds, at + 1);
  grow(fork, members);
  if (importer_.stopped_ || importer_.problems_.count() != 0) return poison(fork);
  give_results(fork, members);
}

// Results that are not alike in all branches that can be computed.
void NodeWalk::find_mixed(Fork& fork, const std::set<std::string_view>& names) {
  const std::vector<ForkSide*> leaves = live_leaves(fork);
  for (const std::string_view name : names) {
    const Value* first = nullptr;
    for (ForkSide* leaf : leaves) {
      const Slot* slot = leaf->names->find(name);  // or made before the branch parted
      const Value* v = slot == nullptr ? nullptr : slot->value;
      if (v == nullptr) continue;
      if (first == nullptr) first = v;
      if (first->dtype() != v->dtype() || first->rank() != v->rank()) mixed_.insert(name);
    }
  }
}

void NodeWalk::grow(Fork& fork, const std::vector<size_t>& members) {
  const auto wanted = [&] {
    return std::any_of(mixed_.begin(), mixed_.end(), [&](std::string_view name) { return results_.contains(name); });
  };
  for (const size_t k : members) {
    if (live_leaves(fork).size() < 2) return;  // one is left: the network goes on from it
    if (work_[k].node < 0) continue;
    bool inside = false;
    for (const std::string_view name : reads(nodes_[work_[k].node])) inside = inside || mixed_.contains(name);
    if (inside) take_in(fork, k, members);
    if (importer_.stopped_ || importer_.problems_.count() != 0) return;
  }
  if (!wanted() || frame_.graph_depth == 0) return;
  // A result of the subgraph is of either kind: nothing goes on outside.
  for (const size_t k : members)
    if (work_[k].node >= 0 && live_leaves(fork).size() > 1) take_in(fork, k, members);
}

// The item, and before it what it needs of the other members.
void NodeWalk::take_in(Fork& fork, size_t item, const std::vector<size_t>& members) {
  std::set<std::string_view> needed;
  std::vector<size_t> in;
  for (auto k = std::upper_bound(members.begin(), members.end(), item); k != members.begin();) {
    --k;
    if (work_[*k].node < 0) continue;
    const ::onnx::NodeProto& node = nodes_[work_[*k].node];
    bool take = *k == item;
    for (const std::string& name : node.output()) take = take || needed.contains(name);
    if (!take) continue;
    in.push_back(*k);
    for (const std::string_view name : reads(node)) needed.insert(name);
  }
  for (auto k = in.rbegin(); k != in.rend(); ++k)
    if (!import_inside(fork, *k)) return;
}

// Once for each branch. A branch in which that fails cannot be taken; when it is the last, the problem is the model's.
bool NodeWalk::import_inside(Fork& fork, size_t item) {
  const int index = work_[item].node;
  const ::onnx::NodeProto& node = nodes_[index];
  work_[item].node = -1;
  std::set<std::string_view> made;
  for (const std::string& name : node.output())
    if (!name.empty()) made.insert(name);
  made_inside_.insert(made.begin(), made.end());
  bool died = false;
  Frame inner = frame_;
  ++inner.graph_depth;
  for (ForkSide* leaf : live_leaves(fork)) {
    const Importer::Mark mark = importer_.mark();
    importer_.import_at(nodes_, index, *leaf->names, inner);
    if (importer_.stopped_) return false;
    if (importer_.problems_.count() != mark.problems) {
      leaf->dead = importer_.take_back(mark);
      importer_.made_fork_ = nullptr;
      died = true;
      continue;
    }
    if (importer_.made_fork_ == nullptr) continue;
    leaf->inner = std::move(importer_.made_fork_);
    const Value* condition = leaf->inner->condition;
    if (const std::optional<bool> known = known_inside(fork, *leaf, &condition))
      leaf->inner->sides[*known ? 1 : 0].never = true;
    open_names(*leaf->inner, *leaf->names, leaf->inner->outputs);
  }
  bury(fork);
  const size_t leaves = live_leaves(fork).size();
  if (leaves > kMostLeaves) {
    importer_.stop(
        make_error(Code::kResourceExhausted,
                   "node '{}' (If) and those inside of it lead to {} combinations of branches, the limit is {}",
                   printable(fork.name), leaves, kMostLeaves));
    return false;
  }
  if (leaves == 0) {
    importer_.report(Code::kInvalidArgument, fmt::format("no branch gives what its readers can read: {}", cause(fork)),
                     fork.name);
    return false;
  }
  if (died) mixed_.clear();  // what differed may have differed there
  find_mixed(fork, died ? made_inside_ : made);
  return true;
}

// What is read outside becomes a result of the If.
void NodeWalk::give_results(Fork& fork, const std::vector<size_t>& members) {
  std::set<std::string_view> outside = results_;
  for (const size_t k : members)
    if (work_[k].node >= 0)
      for (const std::string_view name : reads(nodes_[work_[k].node])) outside.insert(name);
  std::vector<std::string_view> needed;
  for (const std::string_view name : made_inside_)
    if (outside.contains(name)) needed.push_back(name);
  const bool one = live_leaves(fork).size() == 1;
  const auto bad = std::find_if(needed.begin(), needed.end(), [&](auto name) { return !one && mixed_.contains(name); });
  if (bad != needed.end() && frame_.graph_depth > 0 && frame_.function_depth == 0 && open_ == nullptr) {
    open_ = std::make_unique<Fork>(std::move(fork));
    return;
  }
  if (bad != needed.end()) {
    std::string shapes;
    for (ForkSide* leaf : live_leaves(fork))
      if (const Slot* slot = leaf->names->find(*bad); slot != nullptr && slot->value != nullptr)
        shapes += (shapes.empty() ? "" : " or ") + describe(*slot->value);
    importer_.report(Code::kUnsupported,
                     fmt::format("its branches make '{}' {}, and the network gives it out like that: a result has one "
                                 "rank. Give the condition's inputs a shape (or the condition a constant) that decides "
                                 "it, or reshape in the branches",
                                 printable(std::string(*bad)), shapes),
                     fork.name);
    return poison(fork);
  }
  Graph& graph = *scope_.graph();
  Node* const last = graph.last();
  Result<std::vector<Value*>> values = importer_.close_fork(fork, needed, graph);
  if (!values.ok()) {
    importer_.report(values.status().code(), values.status().message(), fork.name);
    return poison(fork);
  }
  std::set<const Value*> made;
  for (const Node* n = last == nullptr ? graph.first() : last->next(); n != nullptr; n = n->next())
    made.insert(n->outputs().begin(), n->outputs().end());
  for (size_t i = 0; i < needed.size(); ++i) {
    if (made.erase((*values)[i]) != 0) name_value((*values)[i], std::string(needed[i]), frame_);
    if (!scope_.define(needed[i], Slot::of((*values)[i])))
      importer_.report(Code::kInvalidArgument, fmt::format("'{}' is defined twice", printable(std::string(needed[i]))),
                       fork.name);
  }
  poison(fork);  // what is not read
}

}  // namespace wootz::importer
