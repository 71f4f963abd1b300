// A refusal of a model, or of one node of it, as data.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace wootz {

// One thing that keeps a model, or one node of it, from being imported.
struct ImportProblem {
  Code code = Code::kInvalidArgument;
  std::string reason;
  std::string
      node;        // with the names of the function calls and control-flow nodes around it: "call/inner"; may be empty
  std::string op;  // empty when the problem is not a node's
  std::string domain;                  // "" is ai.onnx
  int opset = 0;                       // version of the node's domain that the model imports; 0 when it imports none
  int node_index = -1;                 // of the top-level node in the file that it is in; -1 outside nodes
  std::vector<std::string> functions;  // of the model, that the node is inside of: outermost first
  // Where in this library it was noticed.
  const char* source = __builtin_FILE();
  int line = __builtin_LINE();
  const char* source_function = __builtin_FUNCTION();
  std::string to_string() const;
};

}  // namespace wootz
