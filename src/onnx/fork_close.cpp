// A fork that has grown enough becomes an If of the network; or nothing, where one branch is left.
#include <algorithm>
#include <unordered_map>

#include "onnx/fork.h"
#include "onnx/importer.h"
#include "onnx/text.h"
#include "ops/infer.h"
#include "ops/registry.h"

namespace wootz::importer {
namespace {

// Drops what no output needs, and what of the enclosing graph is then not read.
void prune(ForkSide& side) {
  Graph& graph = *side.graph;
  std::vector<Node*> nodes = graph.nodes();
  for (size_t i = nodes.size(); i-- > 0;) {
    const auto read = [&](const Value* v) { return v != nullptr && (!v->uses().empty() || graph.is_output(v)); };
    const auto& outputs = nodes[i]->outputs();
    if (nodes[i]->op().traits.has_side_effects || std::any_of(outputs.begin(), outputs.end(), read)) continue;
    graph.erase(nodes[i]);
  }
  for (size_t i = side.captured.size(); i-- > 0;) {
    Value* input = graph.inputs()[i];
    if (!input->uses().empty() || graph.is_output(input)) continue;
    graph.erase_value(input);
    side.captured.erase(side.captured.begin() + static_cast<ptrdiff_t>(i));
  }
}

Result<Node*> add(Graph& graph, std::string_view name, std::string_view op_name, std::vector<Value*> inputs,
                  AttrMap attrs, int outputs, const std::string& provenance) {
  Node* made = graph.add_node(op(op_name), graph.unique_name(name), std::move(inputs), std::move(attrs), outputs);
  made->add_provenance(provenance);
  WOOTZ_RETURN_IF_ERROR(infer_node(*made));
  return made;
}

// The graph's outputs: each a value of its own.
Status set_outputs(Graph& graph, const std::vector<Value*>& values) {
  while (!graph.outputs().empty()) graph.unmark_output(graph.outputs().back());
  for (Value* v : values) {
    if (graph.is_output(v)) {
      WOOTZ_ASSIGN_OR_RETURN(Node * copy, add(graph, v->name(), "Identity", {v}, {}, 1, v->name()));
      v = copy->output();
    }
    graph.mark_output(v);
  }
  return {};
}

}  // namespace

Importer::Mark Importer::mark() {
  return {problems_.count(), problems_.list().size(), failed_nodes_.contains(top_node_)};
}

std::string Importer::take_back(const Mark& mark) {
  const std::vector<ImportProblem>& list = problems_.list();
  std::string why = list.size() > mark.listed ? list[mark.listed].to_string() : "it cannot be imported";
  problems_.forget(mark.problems, mark.listed);
  if (!mark.failed) failed_nodes_.erase(top_node_);
  return why;
}

std::unique_ptr<Fork> Importer::take_fork(const Graph& branch) {
  const auto found = open_forks_.find(&branch);
  if (found == open_forks_.end()) return nullptr;
  std::unique_ptr<Fork> fork = std::move(found->second);
  open_forks_.erase(found);
  return fork;
}

// The results of a subgraph that ends in a fork, each in every branch. What is imported next opens new scopes.
bool Importer::keep_open(std::unique_ptr<Fork> fork, const ::onnx::GraphProto& proto, const Graph& graph) {
  for (ForkSide* leaf : live_leaves(*fork)) {
    std::vector<Value*> results;
    for (const auto& output : proto.output()) {
      const Slot* slot = leaf->names->find(output.name());
      if (slot == nullptr || slot->value == nullptr) {
        if (slot == nullptr || !slot->poisoned)
          report(Code::kInvalidArgument, "nothing defines it", fmt::format("output '{}'", printable(output.name())));
        return false;
      }
      results.push_back(slot->value);
    }
    leaf->results = std::move(results);
  }
  open_forks_[&graph] = std::move(fork);
  return true;
}

// The nodes of the one branch that is left, in the enclosing graph.
Result<std::vector<Value*>> Importer::write_out(const ForkSide& side, const std::vector<Value*>& results,
                                                Graph& graph) {
  std::unordered_map<const Value*, Value*> map;
  for (size_t i = 0; i < side.captured.size(); ++i) map[side.graph->inputs()[i]] = side.captured[i];
  const auto find = [&](const Value* v) -> Value* {
    if (v == nullptr) return nullptr;
    Value*& to = map[v];
    if (to == nullptr && v->is_constant()) to = graph.add_constant(graph.unique_name(v->name()), v->constant());
    return to;
  };
  for (const Node* node = side.graph->first(); node != nullptr; node = node->next()) {
    std::vector<Value*> inputs;
    for (const Value* v : node->inputs()) inputs.push_back(find(v));
    Node* copy = graph.add_node(node->op(), graph.unique_name(node->name()), std::move(inputs), node->attrs(),
                                node->num_outputs());
    for (const std::string& name : node->provenance()) copy->add_provenance(name);
    WOOTZ_RETURN_IF_ERROR(infer_node(*copy));
    limit_tracking(*copy);
    for (int o = 0; o < node->num_outputs(); ++o) {
      copy->output(o)->set_name(graph.unique_name(node->output(o)->name()));
      map[node->output(o)] = copy->output(o);
    }
  }
  std::vector<Value*> values;
  for (const Value* v : results) values.push_back(find(v));
  return values;
}

Result<std::vector<Value*>> Importer::close_fork(Fork& fork, const std::vector<std::string_view>& needed,
                                                 Graph& graph) {
  std::vector<Value*> results[2];
  for (size_t s = 0; s < 2; ++s) {
    ForkSide& side = fork.sides[s];
    if (!side.alive()) continue;
    if (side.inner != nullptr) {
      WOOTZ_ASSIGN_OR_RETURN(results[s], close_fork(*side.inner, needed, *side.graph));
    } else {
      for (const std::string_view name : needed) {
        const Slot* slot = side.names->find(name);
        if (slot == nullptr || slot->value == nullptr)
          return invalid_argument("a branch does not make '{}'", printable(std::string(name)));
        results[s].push_back(slot->value);
      }
    }
    WOOTZ_RETURN_IF_ERROR(set_outputs(*side.graph, results[s]));
    prune(side);
    results[s] = side.graph->outputs();
  }
  if (needed.empty()) return std::vector<Value*>();
  const std::string shown = printable(fork.name);
  if (fork.sides[0].alive() && fork.sides[1].alive()) {
    std::vector<Value*> inputs{fork.condition};
    for (const ForkSide& side : fork.sides) inputs.insert(inputs.end(), side.captured.begin(), side.captured.end());
    WOOTZ_RETURN_IF_ERROR(count_node());
    WOOTZ_ASSIGN_OR_RETURN(Node * node,
                           add(graph, shown, "If", std::move(inputs),
                               {{"then_branch", fork.sides[0].graph}, {"else_branch", fork.sides[1].graph}},
                               static_cast<int>(needed.size()), shown));
    limit_tracking(*node);
    return node->outputs();
  }
  const size_t live = fork.sides[0].alive() ? 0 : 1;
  const ForkSide& dead = fork.sides[1 - live];
  if (dead.never) return write_out(fork.sides[live], results[live], graph);
  const std::string message = fmt::format("node '{}' (If) chooses its {}, which cannot be computed: {}", shown,
                                          live == 0 ? "else_branch" : "then_branch", dead.dead);
  const auto guard = [&](std::vector<Value*>& values) -> Status {
    for (Value*& v : values) {
      WOOTZ_RETURN_IF_ERROR(count_node());
      WOOTZ_ASSIGN_OR_RETURN(Node * node, add(graph, shown + "_taken", "Require", {fork.condition, v},
                                              {{"expected", int64_t{live == 0}}, {"message", message}}, 1, shown));
      v = node->output();
    }
    return {};
  };
  // Before the branch, so that its message comes before any failure inside.
  WOOTZ_RETURN_IF_ERROR(guard(fork.sides[live].captured));
  WOOTZ_ASSIGN_OR_RETURN(std::vector<Value*> values, write_out(fork.sides[live], results[live], graph));
  if (fork.sides[live].captured.empty()) WOOTZ_RETURN_IF_ERROR(guard(values));
  return values;
}

}  // namespace wootz::importer
