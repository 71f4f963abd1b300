// The tables that every module of ops.def defines; its cases for tests are declared by cases.h.
#pragma once

#include <span>

#include "ops/onnx_import.h"

namespace wootz::ops {

#define MODULE(module)                          \
  std::span<const OpDef* const> module##_ops(); \
  std::span<const OnnxImport> module##_onnx();
#include "ops/ops.def"
#undef MODULE

}  // namespace wootz::ops
