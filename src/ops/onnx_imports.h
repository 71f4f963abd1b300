// The ONNX imports of all modules.
#pragma once

#include <vector>

#include "ops/onnx_import.h"

namespace wootz {

// Every module's table, for the importer.
std::vector<OnnxImport> all_onnx_imports();

}  // namespace wootz
