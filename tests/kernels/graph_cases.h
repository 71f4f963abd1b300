// Problems come from graphs: each step that a graph is lowered to is a problem, its operands and results are what the
// interpreter has for their values. So a problem is written as the small network that asks for it, and every family has
// one reference.
#pragma once

#include "ir/graph.h"
#include "kernels/cases.h"

namespace wootz::kernels {

struct GraphSource {
  std::string name;
  std::shared_ptr<Graph> graph;    // inferred; passes rewrite it
  std::vector<HostTensor> inputs;  // in the order of graph inputs
  double tolerance = 0;
  int64_t reduction = 1;
  bool written = false;
  std::string races;
};

// How many steps were taken, and how many were not since some operand or result is no value of the graph.
struct Taken {
  size_t steps = 0, left = 0;
};

// Adds the steps that the backend's lowering makes of the graph.
Result<Taken> add_steps(const GraphSource& source, const char* backend, CaseSet* cases);
// Rewrites the graph as a build for the backend does.
Status optimize(Graph& graph, const char* backend);
// The problems of its steps alone: for large graphs, which the interpreter is not to run.
Result<std::vector<Problem>> problems_of(const Graph& graph, const char* backend);

}  // namespace wootz::kernels
