#pragma once

#include "ir/op_def.h"
#include "ops/onnx_import.h"

namespace wootz::ops {

extern const OpDef kWeightOnlyMatMul, kBlockMatMul;
Status import_matmul_nbits(ImportContext& ctx);

}  // namespace wootz::ops
