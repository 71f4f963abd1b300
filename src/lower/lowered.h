// What lowering is given, and what it makes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "backend/program.h"
#include "ir/graph.h"

namespace wootz {

struct LowerOptions {
  std::string backend = "cpu";
  // Ranges of the graph's symbols by SymbolId, one list per profile; data-dependent symbols are ignored. Empty: the
  // graph has no dynamic input (or every symbol gets [1, 1, 1]).
  std::vector<std::vector<SymbolRange>> profiles;
  // How many of them, from the first, the program is to run; it has the ranges of the others as well.
  size_t served = SIZE_MAX;
  // Who may compute. A step that no provider here offers to compute becomes an `op` step, which the reference runs.
  std::vector<const Provider*> providers;
  Limits limits;
  bool reference_only = false;  // every node an `op` step
  bool sparse_weights = false;  // problems say which constants have 2:4 zeros
  // Run on the body of an If, Loop or Scan, which is then lowered as a program of its own. Null: the reference runs it.
  std::function<Status(Graph&)> optimize_body;
};

// For each step of the program, the node it came from (null for copies added by lowering); the program's tensor of each
// value that has one.
struct Lowered {
  Program program;
  IndexedVector<StepIndex, const Node*> nodes;
  std::unordered_map<const Value*, TensorIndex> tensors;
  std::vector<Lowered> bodies;   // of program.bodies
  std::shared_ptr<Graph> graph;  // of a body: what `nodes` are in
};

}  // namespace wootz
