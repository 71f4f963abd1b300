#include "lower/body.h"

#include <algorithm>
#include <unordered_map>

#include "ir/verify.h"
#include "ops/infer.h"
#include "ops/registry.h"

namespace wootz {
namespace {

// Symbols keep their numbers, so that bodies within the body, which share them, mean the same. They become extents of
// the body's inputs: what an enclosing graph says of an extent is known to the step that runs the body from its
// operands.
class Separation {
 public:
  Separation(const Graph& body, const Node& node, int first, const ExtentFunction& of)
      : body_(body), node_(node), first_(first), of_(of), graph_(std::make_shared<Graph>(body.name())) {}

  Result<LoneBody> run(const std::function<Status(Graph&)>& optimize) {
    for (const Value* from : body_.inputs()) map_[from] = graph_->add_input(from->name(), from->dtype(), {});
    find_owners();
    copy_symbols();
    for (size_t i = 0; i < body_.inputs().size(); ++i) type_input(i);
    copy_nodes();
    WOOTZ_RETURN_IF_ERROR(infer_graph(*graph_));
    if (drop_idle_values()) WOOTZ_RETURN_IF_ERROR(infer_graph(*graph_));
    WOOTZ_RETURN_IF_ERROR(verify_graph(*graph_));
    if (optimize) WOOTZ_RETURN_IF_ERROR(optimize(*graph_));
    LoneBody made;
    drop_unread(&made.operands);
    ranges_.resize(graph_->symbols().size(), {1, 1, 1});
    made.ranges = std::move(ranges_);
    made.graph = std::move(graph_);
    return made;
  }

 private:
  struct Owner {
    SymbolKind kind;
    int value_id;
    int index;
  };

  void range_of(SymbolId id, const Dim& outside) {
    if (ranges_.size() <= static_cast<size_t>(id)) ranges_.resize(static_cast<size_t>(id) + 1, {1, 1, 1});
    const int64_t opt = of_(outside, false), max = std::max(opt, of_(outside, true));
    ranges_[static_cast<size_t>(id)] = {0, opt, max};
  }
  // The extent of the node's operand; of a sequence's element the body's own.
  Dim outside(size_t input, size_t axis) const {
    const Value* operand = node_.input(first_ + static_cast<int>(input));
    const Shape& own = body_.inputs()[input]->shape();
    return operand != nullptr && operand->shape().size() == own.size() ? operand->shape()[axis] : own[axis];
  }

  // The first input with an extent that is a symbol, or else with such a value, tells its value.
  void find_owners() {
    SymbolId id = -1;
    for (size_t i = 0; i < body_.inputs().size(); ++i) {
      const Value& from = *body_.inputs()[i];
      for (size_t a = 0; a < from.shape().size(); ++a)
        if (from.shape()[a].is_symbol(&id) && own(id, SymbolKind::kInputDim, from, a)) range_of(id, outside(i, a));
    }
    for (const Value* from : body_.inputs()) {
      if (!tracked(*from)) continue;
      for (size_t e = 0; e < from->shape_values()->size(); ++e)
        if ((*from->shape_values())[e].is_symbol(&id) && own(id, SymbolKind::kInputValue, *from, e))
          range_of(id, Dim::symbol(id));
    }
  }
  bool own(SymbolId id, SymbolKind kind, const Value& from, size_t index) {
    if (id < 0) return false;
    return owners_.try_emplace(id, Owner{kind, map_[&from]->id(), static_cast<int>(index)}).second;
  }
  // Values that are extents of something are not negative; of a sum of them that would have to be shown.
  static bool tracked(const Value& from) {
    if (!from.shape_values()) return false;
    SymbolId id = -1;
    return std::all_of(from.shape_values()->begin(), from.shape_values()->end(),
                       [&](const Dim& d) { return d.is_const() || (d.is_symbol(&id) && id >= 0); });
  }
  void copy_symbols() {
    for (Symbol symbol : body_.symbols()) {
      const auto owner = owners_.find(static_cast<SymbolId>(graph_->symbols().size()));
      symbol.kind = owner == owners_.end() ? SymbolKind::kInputDim : owner->second.kind;
      symbol.value_id = owner == owners_.end() ? -1 : owner->second.value_id;
      symbol.index = owner == owners_.end() ? 0 : owner->second.index;
      graph_->add_symbol(std::move(symbol));
    }
  }
  void type_input(size_t input) {
    const Value& from = *body_.inputs()[input];
    Value* const to = map_[&from];
    Shape shape;
    for (size_t a = 0; a < from.shape().size(); ++a)
      shape.push_back(inside(from.shape()[a], *to, a, outside(input, a)));
    to->set_type(from.dtype(), std::move(shape));
    if (tracked(from)) to->set_shape_values(from.shape_values());
  }
  // An expression over symbols that no input tells is a symbol of its own.
  Dim inside(const Dim& d, const Value& to, size_t axis, const Dim& outer) {
    std::vector<SymbolId> used;
    d.collect_symbols(&used);
    const auto owned = [&](SymbolId s) { return owners_.count(s) != 0; };
    if (d.is_const() || (!used.empty() && std::all_of(used.begin(), used.end(), owned))) return d;
    const auto [at, made] = compounds_.try_emplace(d.to_string(), 0);
    if (made) {
      Symbol symbol;
      symbol.name = fmt::format("{}_dim{}", to.name(), axis);
      symbol.value_id = to.id();
      symbol.index = static_cast<int>(axis);
      at->second = graph_->add_symbol(std::move(symbol));
      range_of(at->second, outer);
    }
    return Dim::symbol(at->second);
  }

  Value* find(const Value* v) {
    if (v == nullptr) return nullptr;
    Value*& to = map_[v];
    if (to == nullptr && v->is_constant()) to = graph_->add_constant(v->name(), v->constant());
    return to;
  }
  void copy_nodes() {
    for (const Node* n = body_.first(); n != nullptr; n = n->next()) {
      std::vector<Value*> operands;
      for (const Value* v : n->inputs()) operands.push_back(find(v));
      Node* made = graph_->add_node(n->op(), n->name(), std::move(operands), n->attrs(), n->num_outputs());
      for (const std::string& name : n->provenance()) made->add_provenance(name);
      for (int o = 0; o < n->num_outputs(); ++o) {
        made->output(o)->set_name(n->output(o)->name());
        map_[n->output(o)] = made->output(o);
      }
    }
    for (const Value* v : body_.outputs()) {
      Value* to = find(v);
      if (graph_->is_output(to)) {
        Node* copy = graph_->add_node(op("Identity"), graph_->unique_name(to->name() + "_again"), {to}, {});
        copy->output()->set_name(graph_->unique_name(to->name()));
        to = copy->output();
      }
      graph_->mark_output(to);
    }
  }

  // Symbols that are values of the input, and whether an extent of anything goes by one.
  bool tells_idle_values(const Value& input) const {
    const auto given = [&](SymbolId s) {
      const Symbol& symbol = graph_->symbols()[static_cast<size_t>(s)];
      return symbol.kind == SymbolKind::kInputValue && symbol.value_id == input.id();
    };
    std::vector<SymbolId> values, used;
    for (const Dim& d : *input.shape_values()) d.collect_symbols(&values);
    for (const Node* n = graph_->first(); n != nullptr; n = n->next())
      for (const Value* v : n->outputs())
        for (const Dim& d : v->shape()) d.collect_symbols(&used);
    return std::any_of(values.begin(), values.end(), given) && std::none_of(used.begin(), used.end(), given);
  }
  // Inputs whose values decide no extent are ordinary data: every value would have kernels bound anew.
  bool drop_idle_values() {
    bool any = false;
    for (Value* input : graph_->inputs()) {
      if (!input->shape_values() || !tells_idle_values(*input)) continue;
      input->set_shape_values(std::nullopt);
      any = true;
    }
    return any;
  }

  void drop_unread(std::vector<int32_t>* operands) {
    const std::vector<Value*> inputs = graph_->inputs();
    for (size_t i = 0; i < inputs.size(); ++i) {
      const auto tells = [&](const Symbol& s) {
        return s.kind != SymbolKind::kDataDependent && s.value_id == inputs[i]->id();
      };
      const std::vector<Symbol>& symbols = graph_->symbols();
      if (inputs[i]->uses().empty() && !graph_->is_output(inputs[i]) &&
          std::none_of(symbols.begin(), symbols.end(), tells))
        graph_->erase_value(inputs[i]);
      else
        operands->push_back(first_ + static_cast<int32_t>(i));
    }
  }

  const Graph& body_;
  const Node& node_;
  const int first_;
  const ExtentFunction& of_;
  std::shared_ptr<Graph> graph_;
  std::unordered_map<const Value*, Value*> map_;
  std::unordered_map<SymbolId, Owner> owners_;
  std::unordered_map<std::string, SymbolId> compounds_;
  std::vector<SymbolRange> ranges_;
};

}  // namespace

Result<LoneBody> lone_body(const Graph& body, const Node& node, int first, const ExtentFunction& of,
                           const std::function<Status(Graph&)>& optimize) {
  return Separation(body, node, first, of).run(optimize);
}

}  // namespace wootz
