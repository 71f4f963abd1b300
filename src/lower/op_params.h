// What kernels need of a node that is no kernel family, from its attributes and constants.
#pragma once

#include <string>

#include "backend/problem.h"
#include "ir/graph.h"

namespace wootz {

// `text` is the node as the reference reads it. A node with an epilogue, or with a value that op_kernels.def does not
// allow, is the reference's alone.
void describe_op(const Node& node, std::string text, bool own_sizes, OpParams* op);

}  // namespace wootz
