// No ONNX operator spans devices: networks get such layers through the API.
#include "ops/module_table.h"

namespace wootz::ops {

std::span<const OnnxImport> collective_onnx() { return {}; }

}  // namespace wootz::ops
