#include "ops/module_table.h"

namespace wootz::ops {

std::span<const OnnxImport> experts_onnx() { return {}; }

}  // namespace wootz::ops
