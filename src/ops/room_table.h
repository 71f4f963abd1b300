// The tables that every room of ops.def defines.
#pragma once

#include <span>

#include "ops/cases.h"
#include "ops/onnx_import.h"

namespace wootz::ops {

#define ROOM(room)                            \
  std::span<const OpDef* const> room##_ops(); \
  std::span<const OnnxImport> room##_onnx();  \
  void room##_cases(CaseList& list);
#include "ops/ops.def"
#undef ROOM

}  // namespace wootz::ops
