#include "graph.h"

#include <algorithm>
#include <unordered_map>

namespace wootz::hostcuda {
namespace {

// The steps of a graph behind those that are there. `top`: its nodes are the executable's. False: there is a circle.
bool append_steps(const Graph& graph, bool top, const std::vector<size_t>& before, Executable* made,
                  std::vector<Operation>* operations) {
  const auto sorted = graph.sorted();
  if (sorted.size() != graph.nodes().size()) return false;
  std::unordered_map<const Node*, size_t> place;
  for (const auto& node : sorted) {
    std::vector<size_t> after = before;
    for (const auto& other : node->after) after.push_back(place.at(other.get()));
    std::sort(after.begin(), after.end());
    if (const auto* const child = std::get_if<ChildNode>(&node->operation))
      if (!append_steps(*child->graph, false, after, made, operations)) return false;
    place[node.get()] = made->steps.size();
    made->steps.push_back({top ? node->handle : nullptr, node_type(node->operation), std::move(after)});
    operations->push_back(node->operation);
  }
  return true;
}

}  // namespace

Graph::~Graph() { clear(); }

std::vector<std::shared_ptr<Node>> Graph::clear() {
  for (const auto& node : nodes_) {
    node->graph = nullptr;
    Nodes::get().take(node->handle);
  }
  return std::move(nodes_);
}

bool Graph::find(const cudaGraphNode_t* handles, size_t count, std::vector<std::shared_ptr<Node>>* nodes) const {
  for (size_t i = 0; i < count; ++i) {
    std::shared_ptr<Node> node = Nodes::get().find(handles[i]);
    if (node == nullptr || node->graph != this) return false;
    if (std::find(nodes->begin(), nodes->end(), node) != nodes->end()) return false;
    nodes->push_back(std::move(node));
  }
  return true;
}

std::shared_ptr<Node> Graph::add(Operation operation, std::vector<std::shared_ptr<Node>> after) {
  auto node = std::make_shared<Node>();
  node->graph = this;
  node->operation = std::move(operation);
  node->after = std::move(after);
  node->handle = Nodes::get().add(node);
  nodes_.push_back(node);
  return node;
}

void Graph::remove(const std::shared_ptr<Node>& node) {
  for (const auto& other : nodes_) std::erase(other->after, node);
  node->graph = nullptr;
  Nodes::get().take(node->handle);
  std::erase(nodes_, node);
}

std::vector<std::shared_ptr<Node>> Graph::sorted() const {
  std::unordered_map<const Node*, size_t> missing;
  for (const auto& node : nodes_) missing[node.get()] = node->after.size();
  std::vector<std::shared_ptr<Node>> order;
  std::vector<char> taken(nodes_.size(), 0);
  for (bool more = true; more;) {
    more = false;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (taken[i] || missing[nodes_[i].get()] > 0) continue;
      taken[i] = 1;
      more = true;
      order.push_back(nodes_[i]);
      for (const auto& other : nodes_)
        missing[other.get()] -= static_cast<size_t>(std::count(other->after.begin(), other->after.end(), nodes_[i]));
    }
  }
  return order;
}

std::shared_ptr<Graph> Graph::clone() const {
  auto copy = std::make_shared<Graph>();
  std::unordered_map<const Node*, std::shared_ptr<Node>> same;
  for (const auto& node : nodes_) {
    Operation operation = node->operation;
    if (auto* const child = std::get_if<ChildNode>(&operation)) child->graph = child->graph->clone();
    same[node.get()] = copy->add(std::move(operation), {});
  }
  for (const auto& node : nodes_)
    for (const auto& other : node->after) same[node.get()]->after.push_back(same.at(other.get()));
  return copy;
}

std::shared_ptr<Executable> make_executable(const Graph& graph) {
  auto made = std::make_shared<Executable>();
  auto operations = std::make_shared<std::vector<Operation>>();
  if (!append_steps(graph, true, {}, made.get(), operations.get())) return nullptr;
  made->operations = std::move(operations);
  return made;
}

}  // namespace wootz::hostcuda
