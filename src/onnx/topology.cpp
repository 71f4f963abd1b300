#include "onnx/topology.h"

#include <functional>
#include <queue>
#include <string>
#include <unordered_set>

namespace wootz::importer {

void Topology::reads(const ::onnx::NodeProto& node, Names* names) {
  for (const std::string& name : node.input())
    if (!name.empty()) names->push_back(name);
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g())
      names->insert(names->end(), free_names(attribute.g()).begin(), free_names(attribute.g()).end());
    for (const auto& graph : attribute.graphs())
      names->insert(names->end(), free_names(graph).begin(), free_names(graph).end());
  }
}

const Topology::Names& Topology::free_names(const ::onnx::GraphProto& graph) {
  if (const auto it = free_.find(&graph); it != free_.end()) return *it->second;
  std::unordered_set<std::string_view> known;
  for (const auto& input : graph.input()) known.insert(input.name());
  for (const auto& tensor : graph.initializer()) known.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) known.insert(tensor.values().name());
  for (const auto& node : graph.node())
    for (const std::string& name : node.output()) known.insert(name);
  auto names = std::make_unique<Names>();
  const auto add = [&](std::string_view name) {
    if (!name.empty() && known.insert(name).second) names->push_back(name);
  };
  Names read;
  for (const auto& node : graph.node()) {
    read.clear();
    reads(node, &read);
    for (const std::string_view name : read) add(name);
  }
  for (const auto& output : graph.output()) add(output.name());
  return *free_.emplace(&graph, std::move(names)).first->second;
}

const NodeOrder& Topology::order(const NodeList& nodes) {
  if (const auto it = orders_.find(&nodes); it != orders_.end()) return *it->second;
  auto made = std::make_unique<NodeOrder>();
  std::unordered_map<std::string_view, int> producer;
  for (int i = 0; i < nodes.size(); ++i)
    for (const std::string& name : nodes[i].output())
      if (!name.empty()) producer.emplace(name, i);
  const auto count = static_cast<size_t>(nodes.size());
  std::vector<std::vector<int>> readers(count);
  std::vector<int> waiting(count, 0);
  Names read;
  for (int i = 0; i < nodes.size(); ++i) {
    read.clear();
    reads(nodes[i], &read);
    for (const std::string_view name : read) {
      const auto it = producer.find(name);
      if (it == producer.end()) continue;
      readers[static_cast<size_t>(it->second)].push_back(i);
      ++waiting[static_cast<size_t>(i)];
    }
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < nodes.size(); ++i)
    if (waiting[static_cast<size_t>(i)] == 0) ready.push(i);
  while (!ready.empty()) {
    const int i = ready.top();
    ready.pop();
    made->sorted.push_back(i);
    for (const int reader : readers[static_cast<size_t>(i)])
      if (--waiting[static_cast<size_t>(reader)] == 0) ready.push(reader);
  }
  for (int i = 0; i < nodes.size(); ++i)
    if (waiting[static_cast<size_t>(i)] != 0) made->cyclic.push_back(i);
  return *orders_.emplace(&nodes, std::move(made)).first->second;
}

}  // namespace wootz::importer
