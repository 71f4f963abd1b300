// One expression language for everything pointwise: the body of a pointwise step and the epilogue of every other step.
// A small DAG of scalar operations over operands that broadcast to the output's shape.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"

namespace wootz {

enum class PwOp : uint8_t {
#define PW(enumerator, text, arity) enumerator,
#include "base/pointwise.def"
#undef PW
};

const char* pw_op_name(PwOp op);
int pw_op_arity(PwOp op);
bool pw_op_from_name(std::string_view name, PwOp* op);

// Instruction i defines value i. Operands a, b, c name earlier values; for kInput, `a` is the operand number.
// `type` is the type of the result. 16-bit and narrower floats are computed in f32 and rounded where stored or cast.
struct PwInstr {
  PwOp op = PwOp::kConst;
  DType type = DType::kF32;
  uint16_t a = 0, b = 0, c = 0;
  double imm0 = 0, imm1 = 0;
  bool operator==(const PwInstr&) const = default;
};

struct PointwiseExpr {
  std::vector<PwInstr> code;      // in order of definition
  std::vector<uint16_t> outputs;  // values that are stored; at least one
  uint16_t num_inputs = 0;

  bool empty() const { return code.empty(); }
  bool operator==(const PointwiseExpr&) const = default;

  uint16_t input(uint16_t index, DType type);  // adds (or finds) the load of an operand
  uint16_t constant(double value, DType type);
  uint16_t push(PwOp op, DType type, uint16_t a = 0, uint16_t b = 0, uint16_t c = 0, double imm0 = 0, double imm1 = 0);
  DType output_type(size_t i = 0) const { return code[outputs[i]].type; }
  DType input_type(uint16_t index) const;  // kInvalid when that operand is not read

  // One line, e.g. "v0=input.f32(0); v1=relu.f32(v0); out v1". Exact (immediates as hexadecimal floats); parse() reads
  // it back.
  std::string to_string() const;
  static Result<PointwiseExpr> parse(std::string_view text);
  // Every operand defined before use, arities, operand numbers, types and limits. Everything read from outside passes
  // here.
  Status verify() const;
};

// inner computes the operand `outer_input` of outer: the merged expression has outer's other operands first
// (in order, renumbered), then inner's operands. inner must have one output.
PointwiseExpr substitute(const PointwiseExpr& outer, uint16_t outer_input, const PointwiseExpr& inner);

// The oracle: evaluates in double (floats) or int64 (integers and bool), rounding to the instruction's type after each
// instruction whose type is narrower than that. Floats and integers travel in their own field.
struct PwScalar {
  double f = 0;
  int64_t i = 0;
};
void evaluate(const PointwiseExpr& expr, std::span<const PwScalar> inputs, std::span<PwScalar> outputs);

}  // namespace wootz
