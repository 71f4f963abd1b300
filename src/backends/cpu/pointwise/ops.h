// The instructions of the pointwise engine: each is a loop over n elements. Registers hold one of eleven types; narrow
// floats are held as f32 and converted when loaded and stored.
#pragma once

#include <cstdint>

#include "base/cpu_info.h"
#include "base/dtype.h"
#include "base/pointwise.h"

namespace wootz::cpu {

struct OpArgs {
  void* dst;  // may be the same memory as an operand of equal element size, never overlap it otherwise
  const void *a, *b, *c;
  int64_t n;
  double imm0, imm1;
};
using OpFn = void (*)(const OpArgs&);

// The type in which the engine computes a value of `type`; kInvalid when it cannot (sub-byte types).
DType register_type(DType type);

// The loop for an instruction; null when there is none. `from` is the register type of operand a, `type` that of the
// result. Not for input, const, casts and quantize.
OpFn find_op(Isa isa, PwOp op, DType type, DType from);
// Between register types, as kCast and kCastSaturate of integers, bool, f32 and f64.
OpFn find_convert(Isa isa, DType from, DType to, bool saturate);
// Stored narrow floats to f32 and back. `saturate` matters for the 8-bit formats only.
OpFn find_widen(Isa isa, DType stored);
OpFn find_narrow(Isa isa, DType stored, bool saturate);
// As results are stored: saturating, but infinity stays where the format has it.
OpFn find_store(Isa isa, DType stored);
// kQuantize: a and b of register type `from` (f32 or f64), c of the same type, result an integer.
OpFn find_quantize(Isa isa, DType from, DType to);

// The same with vector instructions, where that pays; null otherwise.
OpFn find_vector_op(Isa isa, PwOp op);  // on f32; comparisons give bool
OpFn find_vector_select(Isa isa);       // of 32-bit values
OpFn find_vector_convert(Isa isa, DType from, DType to, bool saturate);
OpFn find_vector_widen(Isa isa, DType stored);
OpFn find_vector_narrow(Isa isa, DType stored);
OpFn find_vector_quantize(Isa isa, DType to);
// kQuantize of f32 to bytes by a scale, imm0, and a zero point, imm1, that is whole.
OpFn find_vector_quantize_by(Isa isa, DType to);

}  // namespace wootz::cpu
