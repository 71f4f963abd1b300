// Making and asking graphs.
#include <cstdio>
#include <memory>

#include "calls.h"
#include "capture.h"
#include "memory.h"
#include "order.h"

namespace wootz::hostcuda {
namespace {

// Adds a node after others of the graph.
cudaError_t add_node(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                     Operation operation) {
  if (node == nullptr || (after == nullptr && count > 0)) return cudaErrorInvalidValue;
  const auto found = Graphs::get().find(graph);
  if (found == nullptr) return cudaErrorInvalidValue;
  const std::lock_guard<std::mutex> lock(order());
  std::vector<std::shared_ptr<Node>> nodes;
  if (!found->find(after, count, &nodes)) return cudaErrorInvalidValue;
  *node = found->add(std::move(operation), std::move(nodes))->handle;
  return cudaSuccess;
}

template <typename Operator, typename Use>
cudaError_t with_operation(cudaGraphNode_t node, Use use) {
  const auto found = Nodes::get().find(node);
  if (found == nullptr) return cudaErrorInvalidValue;
  const std::lock_guard<std::mutex> lock(order());
  auto* const operation = std::get_if<Operator>(&found->operation);
  if (operation == nullptr) return cudaErrorInvalidValue;
  use(*operation);
  return cudaSuccess;
}

// A list that the caller gives room for: null asks for the length; more room than needed is filled with nulls.
cudaError_t hand_out(const std::vector<cudaGraphNode_t>& list, cudaGraphNode_t* room, size_t* count) {
  if (count == nullptr) return cudaErrorInvalidValue;
  if (room != nullptr)
    for (size_t i = 0; i < *count; ++i) room[i] = i < list.size() ? list[i] : nullptr;
  if (room == nullptr || *count > list.size()) *count = list.size();
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags) {
  if (graph == nullptr || flags != 0) return cudaErrorInvalidValue;
  *graph = Graphs::get().add(std::make_shared<Graph>());
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  const auto found = Graphs::get().take(graph);
  if (found == nullptr) return cudaErrorInvalidValue;
  std::vector<std::shared_ptr<Node>> nodes;  // end after the lock does
  const std::lock_guard<std::mutex> lock(order());
  nodes = found->clear();
  return cudaSuccess;
}

cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph) {
  const auto found = Graphs::get().find(graph);
  if (clone == nullptr || found == nullptr) return cudaErrorInvalidValue;
  const std::lock_guard<std::mutex> lock(order());
  *clone = Graphs::get().add(found->clone());
  return cudaSuccess;
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                  size_t count) {
  return add_node(node, graph, after, count, Nothing());
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                 const cudaHostNodeParams* host) {
  if (host == nullptr || host->fn == nullptr) return cudaErrorInvalidValue;
  return add_node(node, graph, after, count, HostCall{host->fn, host->userData});
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                   const cudaMemcpy3DParms* parameters) {
  Copy copy;
  if (const cudaError_t error = read_copy(parameters, &copy); error != cudaSuccess) return error;
  return add_node(node, graph, after, count, std::move(copy));
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                     size_t count, void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  Copy copy{.to = to, .from = from, .width = bytes, .kind = kind};
  if (const cudaError_t error = check_copy(copy); error != cudaSuccess) return error;
  return add_node(node, graph, after, count, std::move(copy));
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                   const cudaMemsetParams* parameters) {
  Fill fill;
  if (const cudaError_t error = read_fill(parameters, &fill); error != cudaSuccess) return error;
  return add_node(node, graph, after, count, fill);
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                       size_t count, cudaGraph_t child) {
  const auto found = Graphs::get().find(child);
  if (found == nullptr || child == graph) return cudaErrorInvalidValue;
  std::shared_ptr<Graph> clone;
  {
    const std::lock_guard<std::mutex> lock(order());
    clone = found->clone();
  }
  return add_node(node, graph, after, count, ChildNode{std::move(clone)});
}

cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                        size_t count, cudaEvent_t event) {
  const auto found = Events::get().find(event);
  return found == nullptr ? cudaErrorInvalidResourceHandle : add_node(node, graph, after, count, RecordNode{found});
}

cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                      size_t count, cudaEvent_t event) {
  const auto found = Events::get().find(event);
  return found == nullptr ? cudaErrorInvalidResourceHandle : add_node(node, graph, after, count, WaitNode{found});
}

cudaError_t addDependencies11(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to, size_t count) {
  const auto found = Graphs::get().find(graph);
  if (found == nullptr || (count > 0 && (from == nullptr || to == nullptr))) return cudaErrorInvalidValue;
  const std::lock_guard<std::mutex> lock(order());
  for (size_t i = 0; i < count; ++i) {
    std::vector<std::shared_ptr<Node>> first, second;
    if (!found->find(&from[i], 1, &first) || !found->find(&to[i], 1, &second)) return cudaErrorInvalidValue;
    for (const auto& other : second[0]->after)
      if (other == first[0]) return cudaErrorInvalidValue;
    second[0]->after.push_back(first[0]);
  }
  return cudaSuccess;
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                     const cudaGraphEdgeData*, size_t count) {
  return addDependencies11(graph, from, to, count);
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) {
  const auto found = Nodes::get().find(node);
  if (found == nullptr) return cudaErrorInvalidValue;
  const std::lock_guard<std::mutex> lock(order());
  if (found->graph == nullptr) return cudaErrorInvalidValue;
  found->graph->remove(found);
  return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  const auto found = Graphs::get().find(graph);
  if (found == nullptr) return cudaErrorInvalidValue;
  const std::lock_guard<std::mutex> lock(order());
  std::vector<cudaGraphNode_t> list;
  for (const auto& node : found->nodes()) list.push_back(node->handle);
  return hand_out(list, nodes, count);
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  const auto found = Graphs::get().find(graph);
  if (found == nullptr) return cudaErrorInvalidValue;
  const std::lock_guard<std::mutex> lock(order());
  std::vector<cudaGraphNode_t> list;
  for (const auto& node : found->nodes())
    if (node->after.empty()) list.push_back(node->handle);
  return hand_out(list, nodes, count);
}

cudaError_t getEdges11(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, size_t* count) {
  const auto found = Graphs::get().find(graph);
  if (found == nullptr || count == nullptr || (from == nullptr) != (to == nullptr)) return cudaErrorInvalidValue;
  const std::lock_guard<std::mutex> lock(order());
  std::vector<cudaGraphNode_t> froms, tos;
  for (const auto& node : found->nodes())
    for (const auto& other : node->after) {
      froms.push_back(other->handle);
      tos.push_back(node->handle);
    }
  size_t room = *count;
  hand_out(froms, from, &room);
  return hand_out(tos, to, count);
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, cudaGraphEdgeData* edges,
                              size_t* count) {
  if (edges != nullptr && count != nullptr) std::fill(edges, edges + *count, cudaGraphEdgeData());
  return getEdges11(graph, from, to, count);
}

cudaError_t getDependencies11(cudaGraphNode_t node, cudaGraphNode_t* after, size_t* count) {
  const auto found = Nodes::get().find(node);
  if (found == nullptr) return cudaErrorInvalidValue;
  const std::lock_guard<std::mutex> lock(order());
  std::vector<cudaGraphNode_t> list;
  for (const auto& other : found->after) list.push_back(other->handle);
  return hand_out(list, after, count);
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* after, cudaGraphEdgeData* edges,
                                         size_t* count) {
  if (edges != nullptr && count != nullptr) std::fill(edges, edges + *count, cudaGraphEdgeData());
  return getDependencies11(node, after, count);
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  const auto found = Nodes::get().find(node);
  if (found == nullptr || type == nullptr) return cudaErrorInvalidValue;
  const std::lock_guard<std::mutex> lock(order());
  *type = node_type(found->operation);
  return cudaSuccess;
}

cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, cudaHostNodeParams* host) {
  if (host == nullptr) return cudaErrorInvalidValue;
  return with_operation<HostCall>(node, [&](const HostCall& call) { *host = {call.function, call.data}; });
}

cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const cudaHostNodeParams* host) {
  if (host == nullptr || host->fn == nullptr) return cudaErrorInvalidValue;
  return with_operation<HostCall>(node, [&](HostCall& call) { call = {host->fn, host->userData}; });
}

cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char* path, unsigned) {
  const auto found = Graphs::get().find(graph);
  if (found == nullptr || path == nullptr) return cudaErrorInvalidValue;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "w"), std::fclose);
  if (file == nullptr) return cudaErrorOperatingSystem;
  const std::lock_guard<std::mutex> lock(order());
  std::fputs("digraph captured {\n", file.get());
  for (const auto& node : found->nodes()) {
    std::fprintf(file.get(), "  n%p [label=\"type %d\"];\n", static_cast<void*>(node->handle),
                 static_cast<int>(node_type(node->operation)));
    for (const auto& other : node->after)
      std::fprintf(file.get(), "  n%p -> n%p;\n", static_cast<void*>(other->handle), static_cast<void*>(node->handle));
  }
  std::fputs("}\n", file.get());
  return cudaSuccess;
}

}  // namespace wootz::hostcuda
