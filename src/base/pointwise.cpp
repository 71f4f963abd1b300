// The expression itself: building, checking, merging. Text is in pointwise_text.cpp, the oracle in pointwise_eval.cpp.
#include "base/pointwise.h"

#include <array>
#include <bit>

#include "base/limits.h"

namespace wootz {
namespace {

struct PwInfo {
  const char* name;
  int arity;
};
constexpr PwInfo kTable[] = {
#define PW(enumerator, text, arity) {text, arity},
#include "base/pointwise.def"
#undef PW
};
constexpr size_t kCount = std::size(kTable);

// Which types an operation works on.
enum class Domain : uint8_t { kAny, kNumeric, kFloat, kInteger, kLogical };

Domain domain_of(PwOp op) {
  switch (op) {
    case PwOp::kInput:
    case PwOp::kConst:
    case PwOp::kCast:
    case PwOp::kCastSaturate:
    case PwOp::kSelect:
    case PwOp::kEqual:
    case PwOp::kLess:
    case PwOp::kLessEqual:
    case PwOp::kGreater:
    case PwOp::kGreaterEqual: return Domain::kAny;
    case PwOp::kAdd:
    case PwOp::kSub:
    case PwOp::kMul:
    case PwOp::kDiv:
    case PwOp::kMin:
    case PwOp::kMax:
    case PwOp::kPow:
    case PwOp::kMod:
    case PwOp::kFmod:
    case PwOp::kNeg:
    case PwOp::kAbs:
    case PwOp::kSign:
    case PwOp::kPRelu:
    case PwOp::kRelu:
    case PwOp::kClip: return Domain::kNumeric;
    case PwOp::kShiftLeft:
    case PwOp::kShiftRight: return Domain::kInteger;
    case PwOp::kAnd:
    case PwOp::kOr:
    case PwOp::kXor:
    case PwOp::kNot: return Domain::kLogical;
    default: return Domain::kFloat;
  }
}

bool in_domain(Domain domain, DType type) {
  switch (domain) {
    case Domain::kAny: return true;
    case Domain::kNumeric: return type != DType::kBool;
    case Domain::kFloat: return is_float(type);
    case Domain::kInteger: return is_integer(type);
    case Domain::kLogical: return is_integer(type) || type == DType::kBool;
  }
  return false;
}

bool gives_bool(PwOp op) {
  return (op >= PwOp::kEqual && op <= PwOp::kGreaterEqual) || op == PwOp::kIsNan || op == PwOp::kIsInf;
}

Status fail(size_t at, const PwInstr& instr, const std::string& what) {
  return invalid_argument("expression instruction v{} ({}.{}): {}", at, pw_op_name(instr.op), dtype_name(instr.type),
                          what);
}

// The types of the operands against the operation and its result.
Status check_types(size_t at, const PwInstr& instr, const std::vector<PwInstr>& code) {
  const std::array<uint16_t, 3> operands{instr.a, instr.b, instr.c};
  const auto type = [&](size_t k) { return code[operands[k]].type; };
  const auto mismatch = [&](size_t k, const char* wanted) {
    return fail(at, instr, fmt::format("operand v{} is {}, not {}", operands[k], dtype_name(type(k)), wanted));
  };
  switch (instr.op) {
    case PwOp::kInput:
    case PwOp::kConst:
    case PwOp::kCast:
    case PwOp::kCastSaturate: return {};
    case PwOp::kSelect:
      if (type(0) != DType::kBool) return mismatch(0, "bool");
      for (size_t k : {1u, 2u})
        if (type(k) != instr.type) return mismatch(k, dtype_name(instr.type));
      return {};
    case PwOp::kQuantize:
      for (size_t k : {0u, 1u})
        if (!is_float(type(k))) return mismatch(k, "a float type");
      if (instr.type == DType::kBool) return fail(at, instr, "bool is no type to quantize to");
      return {};
    default: break;
  }
  const DType from = type(0);
  for (size_t k = 1; k < static_cast<size_t>(pw_op_arity(instr.op)); ++k)
    if (type(k) != from) return mismatch(k, dtype_name(from));
  if (!in_domain(domain_of(instr.op), from))
    return fail(at, instr, fmt::format("is not defined on {}", dtype_name(from)));
  const DType wanted = gives_bool(instr.op) ? DType::kBool : from;
  if (instr.type != wanted) return fail(at, instr, fmt::format("gives {}", dtype_name(wanted)));
  return {};
}

}  // namespace

const char* pw_op_name(PwOp op) {
  const auto index = static_cast<size_t>(op);
  return index < kCount ? kTable[index].name : "invalid";
}

int pw_op_arity(PwOp op) {
  const auto index = static_cast<size_t>(op);
  return index < kCount ? kTable[index].arity : 0;
}

bool pw_op_from_name(std::string_view name, PwOp* op) {
  for (size_t i = 0; i < kCount; ++i) {
    if (name != kTable[i].name) continue;
    *op = static_cast<PwOp>(i);
    return true;
  }
  return false;
}

uint16_t PointwiseExpr::input(uint16_t index, DType type) {
  if (index >= num_inputs) num_inputs = static_cast<uint16_t>(index + 1);
  for (size_t i = 0; i < code.size(); ++i)
    if (code[i].op == PwOp::kInput && code[i].a == index && code[i].type == type) return static_cast<uint16_t>(i);
  return push(PwOp::kInput, type, index);
}

uint16_t PointwiseExpr::constant(double value, DType type) {
  for (size_t i = 0; i < code.size(); ++i)
    if (code[i].op == PwOp::kConst && code[i].type == type &&
        std::bit_cast<uint64_t>(code[i].imm0) == std::bit_cast<uint64_t>(value))
      return static_cast<uint16_t>(i);
  return push(PwOp::kConst, type, 0, 0, 0, value);
}

uint16_t PointwiseExpr::push(PwOp op, DType type, uint16_t a, uint16_t b, uint16_t c, double imm0, double imm1) {
  code.push_back({op, type, a, b, c, imm0, imm1});
  return static_cast<uint16_t>(code.size() - 1);
}

DType PointwiseExpr::input_type(uint16_t index) const {
  for (const PwInstr& instr : code)
    if (instr.op == PwOp::kInput && instr.a == index) return instr.type;
  return DType::kInvalid;
}

Status PointwiseExpr::verify() const {
  if (code.size() > static_cast<size_t>(limits::kMaxExprInstructions))
    return make_error(Code::kResourceExhausted, "an expression of {} instructions: the limit is {}", code.size(),
                      limits::kMaxExprInstructions);
  if (outputs.empty()) return invalid_argument("an expression stores no value");
  if (outputs.size() > static_cast<size_t>(limits::kMaxExprInstructions))
    return make_error(Code::kResourceExhausted, "an expression stores {} values: the limit is {}", outputs.size(),
                      limits::kMaxExprInstructions);
  std::vector<DType> input_types(num_inputs, DType::kInvalid);
  for (size_t i = 0; i < code.size(); ++i) {
    const PwInstr& instr = code[i];
    if (static_cast<size_t>(instr.op) >= kCount)
      return invalid_argument("expression instruction v{}: no operation has the number {}", i,
                              static_cast<int>(instr.op));
    if (dtype_bits(instr.type) == 0) return fail(i, instr, "has no element type");
    const int arity = pw_op_arity(instr.op);
    const std::array<uint16_t, 3> operands{instr.a, instr.b, instr.c};
    for (size_t k = 0; k < operands.size(); ++k) {
      if (instr.op == PwOp::kInput && k == 0) continue;
      if (k >= static_cast<size_t>(arity)) {
        if (operands[k] != 0) return fail(i, instr, fmt::format("takes {} operands", arity));
      } else if (operands[k] >= i) {
        return fail(i, instr, fmt::format("operand v{} is not defined before it", operands[k]));
      }
    }
    if (instr.op == PwOp::kInput) {
      if (instr.a >= num_inputs) return fail(i, instr, fmt::format("reads operand {} of {}", instr.a, num_inputs));
      DType& known = input_types[instr.a];
      if (known != DType::kInvalid && known != instr.type)
        return fail(i, instr, fmt::format("operand {} was read as {} before", instr.a, dtype_name(known)));
      known = instr.type;
    }
    WOOTZ_RETURN_IF_ERROR(check_types(i, instr, code));
  }
  for (const uint16_t v : outputs)
    if (v >= code.size()) return invalid_argument("an expression of {} instructions stores v{}", code.size(), v);
  return {};
}

PointwiseExpr substitute(const PointwiseExpr& outer, uint16_t outer_input, const PointwiseExpr& inner) {
  if (outer_input >= outer.num_inputs || inner.outputs.size() != 1) return {};  // misuse: verify() refuses the result
  PointwiseExpr merged;
  const auto outer_operands = static_cast<uint16_t>(outer.num_inputs - 1);
  merged.num_inputs = static_cast<uint16_t>(outer_operands + inner.num_inputs);
  std::vector<uint16_t> place(inner.code.size());
  const auto append = [&](const PwInstr& instr) {
    PwInstr moved = instr;
    const int arity = pw_op_arity(instr.op);
    if (arity > 0) moved.a = place[instr.a];
    if (arity > 1) moved.b = place[instr.b];
    if (arity > 2) moved.c = place[instr.c];
    merged.code.push_back(moved);
    return static_cast<uint16_t>(merged.code.size() - 1);
  };
  for (size_t i = 0; i < inner.code.size(); ++i) {
    const PwInstr& instr = inner.code[i];
    place[i] = instr.op == PwOp::kInput ? merged.input(static_cast<uint16_t>(outer_operands + instr.a), instr.type)
                                        : append(instr);
  }
  const uint16_t result = place[inner.outputs[0]];
  place.assign(outer.code.size(), 0);
  for (size_t i = 0; i < outer.code.size(); ++i) {
    const PwInstr& instr = outer.code[i];
    if (instr.op != PwOp::kInput) {
      place[i] = append(instr);
    } else if (instr.a == outer_input) {
      const bool same = merged.code[result].type == instr.type;
      place[i] = same ? result : merged.push(PwOp::kCast, instr.type, result);
    } else {
      place[i] = merged.input(static_cast<uint16_t>(instr.a < outer_input ? instr.a : instr.a - 1), instr.type);
    }
  }
  for (const uint16_t v : outer.outputs) merged.outputs.push_back(place[v]);
  return merged;
}

}  // namespace wootz
