// The walk over a list of nodes, with its forks (onnx/fork.h): what depends on a fork comes after everything that does
// not, so that the branches may read all of that.
#pragma once

#include "onnx/fork.h"
#include "onnx/importer.h"

namespace wootz::importer {

class NodeWalk {
 public:
  NodeWalk(Importer& importer, const NodeList& nodes, const std::set<std::string_view>& results, Scope& scope,
           const Frame& frame)
      : importer_(importer), nodes_(nodes), results_(results), scope_(scope), frame_(frame) {}

  // Imports all nodes. A fork that a result of a subgraph ends in stays open and is given back.
  std::unique_ptr<Fork> run(const NodeOrder& order);

 private:
  struct Item {
    int node = -1;  // -1 with no fork: done inside of one
    std::shared_ptr<Fork> fork;
  };
  void schedule(std::shared_ptr<Fork> fork, size_t at);
  std::vector<size_t> dependents(const std::set<std::string_view>& seeds, size_t from) const;
  void resolve(Fork& fork, size_t at);
  void grow(Fork& fork, const std::vector<size_t>& members);
  bool import_inside(Fork& fork, size_t item);
  void find_mixed(Fork& fork, const std::set<std::string_view>& names);
  void give_results(Fork& fork, const std::vector<size_t>& members);
  void poison(const Fork& fork);
  std::vector<std::string_view> reads(const ::onnx::NodeProto& node) const;
  void take_in(Fork& fork, size_t item, const std::vector<size_t>& members);

  Importer& importer_;
  const NodeList& nodes_;
  const std::set<std::string_view>& results_;
  Scope& scope_;
  const Frame& frame_;
  std::vector<Item> work_;
  std::set<std::string_view> mixed_, made_inside_;
  std::unique_ptr<Fork> open_;
};

}  // namespace wootz::importer
