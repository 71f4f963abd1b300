#include "ops/onnx_imports.h"

#include "ops/module_table.h"

namespace wootz {

std::vector<OnnxImport> all_onnx_imports() {
  std::vector<OnnxImport> imports;
#define MODULE(module) \
  for (const OnnxImport& entry : ops::module##_onnx()) imports.push_back(entry);
#include "ops/ops.def"
#undef MODULE
  return imports;
}

}  // namespace wootz
