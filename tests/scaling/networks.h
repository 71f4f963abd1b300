// Networks of any size, of the shapes that make rewriting and searching slow: for measuring how the build grows.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace wootz::scaling {

struct NetworkKind {
  const char* name;
  std::shared_ptr<Graph> (*make)(int nodes);  // about so many nodes
};

// "chain": one after another. "wide": many short branches of one input, summed by a tree. "residual": bottlenecks with
// batch normalization. "transformer": attention and GELU spelled out, as exporters write them. "concat": every layer
// reads all of the last few (DenseNet). "tower": one value that every node reads. "outputs": one value in eight is an
// output of the network. "mbconv", "c2f": the blocks of EfficientNet and YOLO.
const std::vector<NetworkKind>& network_kinds();

}  // namespace wootz::scaling
