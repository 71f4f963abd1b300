// Graphs: operations and what they come after. order() guards them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "handles.h"
#include "operation.h"

namespace wootz::hostcuda {

struct Node {
  cudaGraphNode_t handle = nullptr;
  Graph* graph = nullptr;  // owns it; null: is gone
  Operation operation;
  std::vector<std::shared_ptr<Node>> after;
};

class Graph {
 public:
  Graph() = default;
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // Nodes that are in this graph. False: one is not, or one is there twice.
  bool find(const cudaGraphNode_t* handles, size_t count, std::vector<std::shared_ptr<Node>>* nodes) const;
  std::shared_ptr<Node> add(Operation operation, std::vector<std::shared_ptr<Node>> after);
  void remove(const std::shared_ptr<Node>& node);
  // Takes all nodes out. The caller lets go of them when order() is free: an operation's end may call its owner.
  std::vector<std::shared_ptr<Node>> clear();
  const std::vector<std::shared_ptr<Node>>& nodes() const { return nodes_; }

  // In an order in which each comes after what it comes after. Empty, of a graph that is not: there is a circle.
  std::vector<std::shared_ptr<Node>> sorted() const;
  std::shared_ptr<Graph> clone() const;

 private:
  std::vector<std::shared_ptr<Node>> nodes_;
};

// One that is ready to be launched: the graph's operations as they were, those of child graphs in their place.
struct Executable {
  struct Step {
    cudaGraphNode_t node;  // of the graph that it was made of; of a child graph's nodes: null
    cudaGraphNodeType type;
    std::vector<size_t> after;  // steps
  };
  std::vector<Step> steps;
  std::shared_ptr<const std::vector<Operation>> operations;  // one a step; launches keep what they began with
  unsigned long long flags = 0;
};

// Null: there is a circle in it.
std::shared_ptr<Executable> make_executable(const Graph& graph);

using Graphs = Handles<Graph, cudaGraph_t>;
using Nodes = Handles<Node, cudaGraphNode_t>;
using Executables = Handles<Executable, cudaGraphExec_t>;

}  // namespace wootz::hostcuda
