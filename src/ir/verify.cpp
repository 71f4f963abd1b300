#include "ir/verify.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir/op_def.h"

namespace wootz {
namespace {

// Attributes that any op may carry, with the kinds they may have.
struct GenericAttr {
  std::string_view name;
  AttrKind kind;
};
constexpr GenericAttr kGenericAttrs[] = {
    {"epilogue", AttrKind::kExpr},  {"main_inputs", AttrKind::kInt}, {"acc_dtype", AttrKind::kDType},
    {"x_scale", AttrKind::kFloats}, {"x_zero", AttrKind::kFloats},   {"w_scale", AttrKind::kFloats},
    {"w_zero", AttrKind::kFloats},
};

const char* kind_name(AttrKind kind) {
  constexpr const char* kNames[] = {
      "an integer", "a float", "a string",      "a list of integers",          "a list of floats",
      "a tensor",   "a graph", "an expression", "the name of an element type", "an op of the application"};
  return kNames[static_cast<size_t>(kind)];
}

bool has_kind(const Attr& attr, AttrKind kind) {
  switch (kind) {
    case AttrKind::kInt: return std::holds_alternative<int64_t>(attr);
    case AttrKind::kFloat: return std::holds_alternative<double>(attr);
    case AttrKind::kString: return std::holds_alternative<std::string>(attr);
    case AttrKind::kInts: return std::holds_alternative<std::vector<int64_t>>(attr);
    case AttrKind::kFloats: return std::holds_alternative<std::vector<double>>(attr);
    case AttrKind::kTensor: return std::holds_alternative<HostTensor>(attr);
    case AttrKind::kGraph: return std::holds_alternative<std::shared_ptr<Graph>>(attr);
    case AttrKind::kExpr: return std::holds_alternative<PointwiseExpr>(attr);
    case AttrKind::kCustom: {
      const auto* custom = std::get_if<std::shared_ptr<const CustomOp>>(&attr);
      return custom != nullptr && *custom != nullptr;
    }
    case AttrKind::kDType: {
      const auto* name = std::get_if<std::string>(&attr);
      return name != nullptr && dtype_from_name(*name) != DType::kInvalid;
    }
  }
  return false;
}

class Verifier {
 public:
  Verifier(const Graph& graph, int depth, int64_t* node_budget) : graph_(graph), depth_(depth), budget_(node_budget) {}

  Status run() {
    WOOTZ_RETURN_IF_ERROR(collect());
    WOOTZ_RETURN_IF_ERROR(check_inputs());
    for (const Node* node : order_) {
      const Status status = check_node(*node);
      if (!status.ok()) return status.with_prefix(place(node));
    }
    WOOTZ_RETURN_IF_ERROR(check_outputs());
    return check_uses();
  }

 private:
  std::string place(const Node* node) const {
    return fmt::format("graph '{}': node '{}' ({})", graph_.name(), node->name(), node->op().name);
  }
  template <typename... Args>
  Status fail(fmt::format_string<Args...> format, Args&&... args) const {
    return invalid_argument("graph '{}': {}", graph_.name(), fmt::format(format, std::forward<Args>(args)...));
  }

  // The nodes in order and every value that the graph owns; nothing else is looked into later.
  Status collect() {
    if (depth_ > limits::kMaxSubgraphDepth)
      return make_error(Code::kResourceExhausted, "graph '{}': graphs nest deeper than {}", graph_.name(),
                        limits::kMaxSubgraphDepth);
    for (const Value* value : graph_.inputs()) {
      if (!owned(value)) return fail("an input is no value of this graph");
      if (value->kind() != ValueKind::kInput) return fail("'{}' is listed as an input and is none", value->name());
      if (!defined_.insert(value).second) return fail("input '{}' is listed twice", value->name());
    }
    for (const Value* value : graph_.constants()) {
      defined_.insert(value);
      WOOTZ_RETURN_IF_ERROR(check_constant(*value));
    }
    const Node* previous = nullptr;
    for (const Node* node = graph_.first(); node != nullptr; previous = node, node = node->next()) {
      if (--*budget_ < 0)
        return make_error(Code::kResourceExhausted, "graph '{}': more than {} nodes", graph_.name(), limits::kMaxNodes);
      if (node->graph() != &graph_ || node->prev() != previous) return fail("the list of nodes is broken");
      nodes_.insert(node);
      order_.push_back(node);
    }
    if (graph_.last() != previous || graph_.num_nodes() != static_cast<int>(order_.size()))
      return fail("the list of nodes is broken");
    return {};
  }

  bool owned(const Value* value) const { return value != nullptr && value->graph() == &graph_; }

  Status check_constant(const Value& value) const {
    const HostTensor& tensor = value.constant();
    if (!tensor.valid() || dtype_bits(tensor.dtype()) == 0) return fail("constant '{}' has no tensor", value.name());
    if (tensor.data() == nullptr && tensor.bytes() != 0) return fail("constant '{}' has no data", value.name());
    if (value.dtype() != tensor.dtype() || value.shape() != to_shape(tensor.dims()))
      return fail("constant '{}' is declared {}{} and holds {}{}", value.name(), dtype_name(value.dtype()),
                  shape_to_string(value.shape()), dtype_name(tensor.dtype()), tensor.dims().to_string());
    return {};
  }

  Status check_type(const Value& value) const {
    if (dtype_bits(value.dtype()) == 0)
      return fail("value '{}' has the element type {}", value.name(), dtype_name(value.dtype()));
    if (value.rank() > limits::kMaxRank)
      return fail("value '{}' has {} dimensions: the limit is {}", value.name(), value.rank(), limits::kMaxRank);
    std::vector<SymbolId> symbols;
    for (const Dim& dim : value.shape()) {
      if (dim.is_const() && dim.value() < 0)
        return fail("value '{}' has a negative dimension: {}", value.name(), shape_to_string(value.shape()));
      dim.collect_symbols(&symbols);
    }
    if (value.shape_values())
      for (const Dim& dim : *value.shape_values()) dim.collect_symbols(&symbols);
    for (const SymbolId id : symbols)
      if (id < 0 || static_cast<size_t>(id) >= graph_.symbols().size())
        return fail("value '{}' depends on symbol s{}: there are {}", value.name(), id, graph_.symbols().size());
    return {};
  }

  Status check_inputs() {
    std::unordered_set<std::string_view> names;
    for (const Value* value : graph_.inputs()) {
      WOOTZ_RETURN_IF_ERROR(check_type(*value));
      if (depth_ > 0) continue;
      if (value->name().empty()) return fail("an input has no name");
      if (!names.insert(value->name()).second) return fail("two inputs have the name '{}'", value->name());
    }
    return {};
  }

  Status check_outputs() const {
    std::unordered_map<std::string_view, const Value*> names;
    for (const Value* value : graph_.inputs()) names.emplace(value->name(), value);
    std::unordered_set<const Value*> seen;
    for (const Value* value : graph_.outputs()) {
      if (defined_.count(value) == 0) return fail("an output is no value of this graph");
      WOOTZ_RETURN_IF_ERROR(check_type(*value));
      if (depth_ > 0) continue;
      if (value->name().empty()) return fail("an output has no name");
      if (!seen.insert(value).second) return fail("output '{}' is listed twice", value->name());
      const auto [other, fresh] = names.emplace(value->name(), value);
      if (!fresh && other->second != value) return fail("two inputs or outputs have the name '{}'", value->name());
    }
    return {};
  }

  Status check_node(const Node& node) {
    const OpDef& op = node.op();
    const PointwiseExpr* epilogue = node.attr_expr("epilogue");
    int main_inputs = node.num_inputs();
    if (epilogue != nullptr) {
      const int64_t given = node.attr_int("main_inputs", node.num_inputs());
      if (given < 0 || given > node.num_inputs())
        return invalid_argument("main_inputs is {} of {} inputs", given, node.num_inputs());
      main_inputs = static_cast<int>(given);
      if (epilogue->num_inputs != node.num_inputs() - main_inputs + 1)
        return invalid_argument("the epilogue reads {} operands, the node has its result and {} more",
                                epilogue->num_inputs, node.num_inputs() - main_inputs);
    }
    if (node.num_inputs() > limits::kMaxInputsPerNode || (op.max_inputs >= 0 && main_inputs > op.max_inputs))
      return invalid_argument("{} inputs, at most {} are allowed", main_inputs,
                              op.max_inputs >= 0 ? op.max_inputs : limits::kMaxInputsPerNode);
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Value* value = node.input(i);
      if (value == nullptr) {
        if (i >= main_inputs) return invalid_argument("input {} is read by the epilogue and missing", i);
        continue;
      }
      if (defined_.count(value) == 0)
        return owned(value) ? invalid_argument("input {} '{}' is not computed before it", i, value->name())
                            : invalid_argument("input {} is no value of this graph", i);
      ++uses_[value];
      WOOTZ_RETURN_IF_ERROR(check_type(*value));
    }
    for (int i = 0; i < op.min_inputs; ++i)
      if (i >= main_inputs || node.input(i) == nullptr)
        return invalid_argument("input {} is missing: {} are required", i, op.min_inputs);
    WOOTZ_RETURN_IF_ERROR(check_node_outputs(node));
    return check_attributes(node);
  }

  Status check_node_outputs(const Node& node) {
    const OpDef& op = node.op();
    if (node.num_outputs() < op.min_outputs || (op.max_outputs >= 0 && node.num_outputs() > op.max_outputs))
      return invalid_argument("{} outputs, {} to {} are allowed", node.num_outputs(), op.min_outputs, op.max_outputs);
    for (int i = 0; i < node.num_outputs(); ++i) {
      const Value* value = node.output(i);
      if (!owned(value) || value->kind() != ValueKind::kNodeOutput || value->producer() != &node ||
          value->producer_index() != i)
        return invalid_argument("output {} does not link back to its node", i);
      if (!defined_.insert(value).second) return invalid_argument("output {} '{}' is computed twice", i, value->name());
    }
    return {};
  }

  Status check_attributes(const Node& node) {
    for (const AttrSpec& spec : node.op().attributes)
      if (spec.required && !node.has_attr(spec.name)) return invalid_argument("attribute '{}' is missing", spec.name);
    for (const auto& entry : node.attrs()) {
      const std::string& name = entry.first;
      const Attr& attr = entry.second;
      const auto& specs = node.op().attributes;
      const auto spec = std::find_if(specs.begin(), specs.end(), [&](const AttrSpec& s) { return name == s.name; });
      const auto* generic = std::find_if(std::begin(kGenericAttrs), std::end(kGenericAttrs),
                                         [&](const GenericAttr& g) { return name == g.name; });
      if (spec == specs.end() && generic == std::end(kGenericAttrs))
        return invalid_argument("attribute '{}' is not known to the op", name);
      const AttrKind kind = spec != specs.end() ? spec->kind : generic->kind;
      if (!has_kind(attr, kind)) return invalid_argument("attribute '{}' is not {}", name, kind_name(kind));
      Status status = check_attribute(attr);
      if (!status.ok()) return status.with_prefix(fmt::format("attribute '{}'", name));
    }
    return {};
  }

  Status check_attribute(const Attr& attr) {
    if (const auto* expr = std::get_if<PointwiseExpr>(&attr)) return expr->verify();
    if (const auto* tensor = std::get_if<HostTensor>(&attr); tensor != nullptr && !tensor->valid())
      return invalid_argument("no tensor");
    if (const auto* graph = std::get_if<std::shared_ptr<Graph>>(&attr)) {
      if (*graph == nullptr) return invalid_argument("no graph");
      return Verifier(**graph, depth_ + 1, budget_).run();
    }
    return {};
  }

  // Each value's use list holds exactly the inputs that read it, once each.
  Status check_uses() const {
    for (const Value* value : defined_) {
      const auto counted = uses_.find(value);
      std::vector<std::pair<const Node*, int>> uses;
      for (const Use& use : value->uses()) {
        if (nodes_.count(use.node) == 0 || use.node->input(use.index) != value)
          return fail("a use of '{}' is stale", value->name());
        uses.emplace_back(use.node, use.index);
      }
      std::sort(uses.begin(), uses.end());
      if (uses.size() != (counted == uses_.end() ? 0 : counted->second) ||
          std::adjacent_find(uses.begin(), uses.end()) != uses.end())
        return fail("the uses of '{}' do not agree with the nodes' inputs", value->name());
    }
    return {};
  }

  const Graph& graph_;
  const int depth_;
  int64_t* const budget_;
  std::unordered_set<const Value*> defined_;  // so far, in order
  std::unordered_set<const Node*> nodes_;
  std::vector<const Node*> order_;
  std::unordered_map<const Value*, size_t> uses_;
};

}  // namespace

Status verify_graph(const Graph& graph) {
  int64_t node_budget = limits::kMaxNodes;
  return Verifier(graph, 0, &node_budget).run();
}

}  // namespace wootz
