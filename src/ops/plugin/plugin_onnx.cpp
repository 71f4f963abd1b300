// No ONNX operator is a plugin by its name: the importer asks who knows plugins (ImportOptions::plugins).
#include "ops/module_table.h"

namespace wootz::ops {

std::span<const OnnxImport> plugin_onnx() { return {}; }

}  // namespace wootz::ops
