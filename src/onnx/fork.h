// An If whose branches give results of differing rank. What reads such a result is imported once for each branch and
// goes on inside of it, until what comes out is alike; the network goes on from there. A branch that its readers cannot
// read is never taken, or the run ends with a message.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "onnx/onnx.pb.h"
#include "onnx/scope.h"

namespace wootz::importer {

struct Fork;

struct ForkSide {
  std::shared_ptr<Graph> graph;
  std::vector<Value*> captured;  // of the enclosing graph: the graph's inputs
  std::vector<Value*> results;   // what the branch gives, in the order of the fork's outputs; unless `inner`
  std::unique_ptr<Fork> inner;   // the branch ends in such an If itself
  std::unique_ptr<Scope> names;  // of the values inside, while the fork grows
  bool never = false;            // known not to be taken
  std::string dead;              // why it cannot be computed; empty: it can
  bool alive() const { return !never && dead.empty(); }
};

struct Fork {
  const ::onnx::NodeProto* node = nullptr;
  std::string name;  // of the node, for messages
  Value* condition = nullptr;
  std::vector<std::string_view> outputs;  // names outside; "": not wanted
  std::set<std::string_view> seeds;       // outputs, and those of forks that are grown inside of this one
  ForkSide sides[2];                      // then, else
};

// The branches that have no fork of their own, as far as they can be computed.
std::vector<ForkSide*> live_leaves(Fork& fork);

}  // namespace wootz::importer
