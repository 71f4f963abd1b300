// Fused nodes are made by passes; no model holds them.
#include "ops/module_table.h"

namespace wootz::ops {

std::span<const OnnxImport> fused_onnx() { return {}; }

}  // namespace wootz::ops
