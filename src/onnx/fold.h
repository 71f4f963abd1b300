// Folding while importing, so that shape computations are constants by the time an op asks for them. Small things only:
// weights are folded by a pass.
#pragma once

#include <utility>
#include <vector>

#include "ir/graph.h"

namespace wootz::importer {

class Folder {
 public:
  using Replaced = std::vector<std::pair<Value*, Value*>>;
  // When the outputs of the node are known (all inputs constant and cheap to compute, or tracked shape values that are
  // all numbers): puts constants in their place, erases the node and reports which value became which.
  bool fold(Node* node, Replaced* replaced);

 private:
  bool affordable(const Node& node);
  int64_t spent_ = 0;
  size_t bytes_ = 0;
};

}  // namespace wootz::importer
