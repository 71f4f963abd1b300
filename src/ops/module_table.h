// The tables that every module of ops.def defines.
#pragma once

#include <span>

#include "ops/cases.h"
#include "ops/onnx_import.h"

namespace wootz::ops {

#define MODULE(module)                          \
  std::span<const OpDef* const> module##_ops(); \
  std::span<const OnnxImport> module##_onnx();  \
  void module##_cases(CaseList& list);
#include "ops/ops.def"
#undef MODULE

}  // namespace wootz::ops
