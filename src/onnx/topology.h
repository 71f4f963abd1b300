// Order of nodes by their names, before anything is imported.
#pragma once

#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "onnx/onnx.pb.h"

namespace wootz::importer {

using NodeList = google::protobuf::RepeatedPtrField<::onnx::NodeProto>;

struct NodeOrder {
  std::vector<int> sorted;  // each node after what it reads; the order of the file where that is allowed
  std::vector<int> cyclic;  // nodes on or after a cycle, in file order
};

// Also counts what the subgraphs of a node read from outside as read by the node. Results are kept by address.
class Topology {
 public:
  using Names = std::vector<std::string_view>;
  const NodeOrder& order(const NodeList& nodes);
  // Adds the names that a node reads, those inside of its subgraphs too.
  void reads(const ::onnx::NodeProto& node, Names* names);

 private:
  // Names that the graph reads and does not define. Nesting is bounded by the parser.
  const Names& free_names(const ::onnx::GraphProto& graph);
  std::unordered_map<const void*, std::unique_ptr<NodeOrder>> orders_;
  std::unordered_map<const void*, std::unique_ptr<Names>> free_;
};

}  // namespace wootz::importer
