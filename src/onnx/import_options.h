// How a model is to be imported.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "ir/node_order.h"
#include "onnx/plugin_request.h"

namespace wootz {

struct ImportOptions {
  // Folder that external data lies in. Empty: a model with external data is refused (import_file takes the model's
  // folder).
  std::string model_dir;
  // Accept external data reached by symbolic links or stored in a file with several hard links (content-addressed
  // caches). The lexical rules (relative, no "..") hold all the same.
  bool allow_linked_external_data = false;
  // Graph inputs to take as constants. Types and fixed extents must match; a symbolic extent becomes the given one
  // wherever the model uses it.
  std::map<std::string, HostTensor, std::less<>> constant_inputs;
  // Problems kept with their text; further ones are only counted.
  size_t max_problems = 1000;
  // Asked for nodes of operators that are not known, or of any (onnx/plugin_request.h). Null: there are no plugins.
  PluginFunction plugins;
  bool plugins_first = false;                 // a plugin wins over an operator's own meaning
  std::vector<AbsentNode>* absent = nullptr;  // gets such nodes of the main graph, in the model's order
};

}  // namespace wootz
