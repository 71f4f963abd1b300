// What a name of the model stands for, graph by graph.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"

namespace wootz::importer {

struct Slot {
  Value* value = nullptr;  // null with the others unset: an optional input that a function's caller omitted
  HostTensor pending;      // an initializer that nothing has read yet
  bool poisoned = false;   // its definition failed and was reported

  static Slot of(Value* value) { return {value, {}, false}; }
  static Slot poison() { return {nullptr, {}, true}; }
};

// The names of one graph, or of one call of a function (whose nodes go into the caller's graph). Keys are views into
// the model, which outlives every scope.
class Scope {
 public:
  // `outer`: what a subgraph sees beyond its own names; null for the main graph and for functions.
  // `captured`: for a subgraph, receives the outer values that became its inputs.
  Scope(Graph* graph, Scope* outer, std::vector<Value*>* captured)
      : graph_(graph), outer_(outer), captured_(captured) {}

  Graph* graph() const { return graph_; }
  // False when the name is defined in this scope already.
  bool define(std::string_view name, Slot slot) { return slots_.emplace(name, std::move(slot)).second; }
  void redefine(std::string_view name, Slot slot) { slots_[name] = std::move(slot); }
  const Slot* own(std::string_view name) const;
  // The slot with its value made; a name of an enclosing graph is captured on the way. Null: undefined.
  const Slot* find(std::string_view name);
  bool sees(std::string_view name) const;

 private:
  void capture(std::string_view name, const Slot& from);
  Graph* graph_;
  Scope* outer_;
  std::vector<Value*>* captured_;
  std::unordered_map<std::string_view, Slot> slots_;
  std::unordered_map<const Value*, Value*> inner_;  // captured value -> input of this graph
};

}  // namespace wootz::importer
