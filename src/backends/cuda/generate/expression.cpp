#include "backends/cuda/generate/expression.h"

#include <cmath>

#include "backends/cuda/generate/source.h"

namespace wootz::cuda {
namespace {

std::string number(double v) {
  if (std::isnan(v)) return "W_NAN";
  if (std::isinf(v)) return v > 0 ? "W_INF" : "(-W_INF)";
  return fmt::format("{:a}", v).find("0x") != std::string::npos ? fmt::format("{:a}", v) : fmt::format("{:.17g}", v);
}

struct Form {
  PwOp op;
  const char* format;  // T: the result's register type; a, b, c: operands; x, y: immediates as T
};
// Operations with one form for all types that verify() lets them have.
constexpr Form kForms[] = {
    {PwOp::kAdd, "w_add<T>(a, b)"},
    {PwOp::kSub, "w_sub<T>(a, b)"},
    {PwOp::kMul, "w_mul<T>(a, b)"},
    {PwOp::kDiv, "w_div<T>(a, b)"},
    {PwOp::kMin, "w_min<T>(a, b)"},
    {PwOp::kMax, "w_max<T>(a, b)"},
    {PwOp::kPow, "w_pow<T>(a, b)"},
    {PwOp::kMod, "w_mod<T>(a, b)"},
    {PwOp::kFmod, "w_fmod<T>(a, b)"},
    {PwOp::kAnd, "(T)(a & b)"},
    {PwOp::kOr, "(T)(a | b)"},
    {PwOp::kXor, "(T)(a ^ b)"},
    {PwOp::kShiftLeft, "w_shl<T>(a, b)"},
    {PwOp::kShiftRight, "w_shr<T>(a, b)"},
    {PwOp::kEqual, "(a == b)"},
    {PwOp::kLess, "(a < b)"},
    {PwOp::kLessEqual, "(a <= b)"},
    {PwOp::kGreater, "(a > b)"},
    {PwOp::kGreaterEqual, "(a >= b)"},
    {PwOp::kPRelu, "w_prelu<T>(a, b)"},
    {PwOp::kSelect, "(a ? b : c)"},
    {PwOp::kNeg, "w_neg<T>(a)"},
    {PwOp::kAbs, "w_abs<T>(a)"},
    {PwOp::kNot, "w_not<T>(a)"},
    {PwOp::kSign, "w_sign<T>(a)"},
    {PwOp::kSqrt, "w_sqrt(a)"},
    {PwOp::kReciprocal, "((T)1 / a)"},
    {PwOp::kExp, "w_exp(a)"},
    {PwOp::kLog, "w_log(a)"},
    {PwOp::kSin, "w_sin(a)"},
    {PwOp::kCos, "w_cos(a)"},
    {PwOp::kTan, "w_tan(a)"},
    {PwOp::kAsin, "w_asin(a)"},
    {PwOp::kAcos, "w_acos(a)"},
    {PwOp::kAtan, "w_atan(a)"},
    {PwOp::kSinh, "w_sinh(a)"},
    {PwOp::kCosh, "w_cosh(a)"},
    {PwOp::kAsinh, "w_asinh(a)"},
    {PwOp::kAcosh, "w_acosh(a)"},
    {PwOp::kAtanh, "w_atanh(a)"},
    {PwOp::kErf, "w_erf(a)"},
    {PwOp::kCeil, "w_ceil(a)"},
    {PwOp::kFloor, "w_floor(a)"},
    {PwOp::kRound, "w_rint(a)"},
    {PwOp::kIsNan, "(a != a)"},
    {PwOp::kRelu, "w_relu<T>(a)"},
    {PwOp::kLeakyRelu, "(a < 0 ? x * a : a)"},
    {PwOp::kSigmoid, "w_sigmoid(a)"},
    {PwOp::kTanh, "w_tanh(a)"},
    {PwOp::kGeluErf, "w_gelu_erf<T>(a)"},
    {PwOp::kGeluTanh, "w_gelu_tanh<T>(a)"},
    {PwOp::kSilu, "w_silu<T>(a, x)"},
    {PwOp::kHardSigmoid, "w_clip<T>(x * a + y, (T)0, (T)1)"},
    {PwOp::kHardSwish, "w_hard_swish<T>(a)"},
    {PwOp::kMish, "w_mish<T>(a)"},
    {PwOp::kSoftplus, "w_softplus<T>(a)"},
    {PwOp::kSoftsign, "(a / ((T)1 + w_abs<T>(a)))"},
    {PwOp::kElu, "w_elu<T>(a, x)"},
    {PwOp::kCelu, "w_celu<T>(a, x)"},
    {PwOp::kSelu, "(y * w_elu<T>(a, x))"},
    {PwOp::kThresholdedRelu, "(a > x || a != a ? a : (T)0)"},
    {PwOp::kShrink, "w_shrink<T>(a, x, y)"},
};

// Those that take fewer instructions where the result is rounded to 16 bits or fewer.
constexpr Form kNearForms[] = {
    {PwOp::kSigmoid, "w_sigmoid_near(a)"},
    {PwOp::kSilu, "w_silu_near(a, x)"},
    {PwOp::kGeluErf, "w_gelu_erf_near(a)"},
    {PwOp::kGeluTanh, "w_gelu_tanh_near(a)"},
};

bool narrow_float(DType type) { return is_float(type) && dtype_bits(type) <= 16; }

bool is_small(DType type) { return is_float(type) && dtype_bits(type) <= 8; }
const char* small_type(DType type) { return type == DType::kF4E2M1 ? "f4e2m1" : storage_type(type); }

// Whether it gives a float of 8 bits that is kept as it is stored, too: a result needs no more, and to take it apart
// and put it together again are two conversions.
bool stays_stored(const PwInstr& in) {
  const bool rounds = in.op == PwOp::kQuantize || in.op == PwOp::kCastSaturate;
  return rounds && is_small(in.type) && in.type != DType::kF4E2M1 && in.type != DType::kF8E8M0;
}

// What the register of 8 bits says of an integer of fewer. Empty: its value may be outside of the type.
std::string in_few_bits(const PwInstr& in, const std::string& value) {
  const int bits = dtype_bits(in.type);
  const bool sign = dtype_info(in.type).is_signed;
  switch (in.op) {
    case PwOp::kConst:
    case PwOp::kCast: return fmt::format("w_low{}<{}>((u32){})", sign ? "_signed" : "", bits, value);
    case PwOp::kCastSaturate:
    case PwOp::kQuantize:
      return fmt::format("w_clip<{}>({}, {}, {})", register_type(in.type), value, sign ? -(1 << (bits - 1)) : 0,
                         (1 << (sign ? bits - 1 : bits)) - 1);
    case PwOp::kInput:
    case PwOp::kSelect:
    case PwOp::kMin:
    case PwOp::kMax:
    case PwOp::kRelu:
    case PwOp::kClip: return value;
    default: return "";
  }
}

// An operation of an expression, with the values before it.
struct Operation {
  const PointwiseExpr& expr;
  const PwInstr& in;
  const char* type;  // of its register
  const std::vector<std::string>& values;
  const std::vector<std::string>& inputs;
  const ExpressionRules& rules;

  std::string operand(int k) const {
    const uint16_t v = k == 0 ? in.a : k == 1 ? in.b : in.c;
    if (k >= pw_op_arity(in.op)) return "";
    return v < values.size() ? values[v] : "0";
  }
  // Operand 1 is a constant that is_ordinary_scale().
  bool by_ordinary() const {
    const PwInstr& scale = expr.code[in.b];
    if (scale.op == PwOp::kInput) return scale.a < inputs.size() && scale.a + rules.ordinary >= inputs.size();
    return scale.op == PwOp::kConst && scale.type == DType::kF32 && is_ordinary_scale(scale.imm0);
  }
  bool is_zero(uint16_t v) const {
    const PwInstr& of = expr.code[v];
    return of.op == PwOp::kCast ? is_zero(of.a) : of.op == PwOp::kConst && of.imm0 == 0 && !std::signbit(of.imm0);
  }
  DType from() const { return pw_op_arity(in.op) > 0 ? expr.code[in.a].type : in.type; }
  std::string immediate(double v) const {
    return is_float(in.type) ? fmt::format("({}){}", type, number(v)) : fmt::format("w_sat<{}>({})", type, number(v));
  }
};

std::string cast(const Operation& o) {
  const DType to = o.in.type;
  const std::string a = o.operand(0);
  if (const PwInstr& of = o.expr.code[o.in.a]; to == DType::kF32 && of.op == PwOp::kInput)
    if (of.a < o.rules.as_floats.size() && !o.rules.as_floats[of.a].empty()) return o.rules.as_floats[of.a];
  if (is_small(to)) return fmt::format("w_small<{}>((float){}, false).value()", small_type(to), a);
  return narrow_float(to) ? fmt::format("w_round_to<{}>((float){})", storage_type(to), a)
                          : fmt::format("w_cast<{}>({})", o.type, a);
}

// What is rounded to 8 bits or fewer: where it is a quotient by an ordinary constant, and 0 perhaps, without a
// division.
std::string rounded_operand(const Operation& o) {
  const PwInstr* of = &o.expr.code[o.in.a];
  const bool plus = of->op == PwOp::kAdd && of->type == DType::kF32 && o.is_zero(of->b);
  if (plus) of = &o.expr.code[of->a];
  if (o.in.type == DType::kF8E8M0 || of->op != PwOp::kDiv || of->type != DType::kF32) return o.operand(0);
  const PwInstr& by = o.expr.code[of->b];
  if (by.op != PwOp::kConst || !has_even_inverse(by.imm0)) return o.operand(0);
  const auto b = static_cast<float>(by.imm0);
  float inverse = 1 / b;
  if (std::fma(-b, inverse, 1.0F) < 0) inverse = std::nextafter(inverse, 0.0F);
  const float lacks = std::fma(-b, inverse, 1.0F) * inverse;
  return fmt::format("w_quotient_by<{}>({}, (float){}, (float){})", plus, o.values[of->a], number(inverse),
                     number(lacks));
}

std::string cast_saturated(const Operation& o) {
  const DType to = o.in.type;
  const std::string a = o.operand(0);
  if (!is_float(to)) return fmt::format("w_sat<{}>({})", o.type, a);
  if (stays_stored(o.in)) return fmt::format("(float)({})", rounded_operand(o));
  if (is_small(to)) return fmt::format("w_small<{}>((float)({}), true).value()", small_type(to), rounded_operand(o));
  if (to == DType::kF16) return fmt::format("w_round_to<f16>(w_clip<float>((float){}, -65504.0f, 65504.0f))", a);
  if (to == DType::kBF16)
    return fmt::format("w_round_to<bf16>(w_clip<float>((float){0}, -{1:.9g}f, {1:.9g}f))", a, 0x1.fep127);
  if (to == DType::kF32 && o.from() == DType::kF64)
    return fmt::format("(float)w_clip<double>({}, -0x1.fffffep127, 0x1.fffffep127)", a);
  return fmt::format("({}){}", o.type, a);
}

Result<std::string> quantized(const Operation& o) {
  const DType to = o.in.type;
  if (dtype_bits(o.from()) > 32 || (is_float(to) && !is_small(to)))
    return unsupported("quantize of {} to {}", dtype_name(o.from()), dtype_name(to));
  const std::string a = o.operand(0), b = o.operand(1), c = o.operand(2);
  const PwInstr& zero = o.expr.code[o.in.c];
  std::string value = fmt::format("(float)((double)({} / {}) + (double){})", a, b, c);
  if (zero.op == PwOp::kConst && zero.imm0 == 0)  // of -0 makes 0, as with the addition above
    value = fmt::format("{} / {} + 0.0f", a, b);
  if (stays_stored(o.in)) return value;
  if (is_small(to)) return fmt::format("w_small<{}>({}, true).value()", small_type(to), value);
  if (const PwInstr& of = o.expr.code[o.in.a];
      o.by_ordinary() && dtype_bits(to) == 8 && of.op == PwOp::kRelu && of.type == DType::kF32 && o.is_zero(o.in.c))
    return fmt::format("w_quantize_positive_by<{}>({}, {})", o.type, o.values[of.a], b);
  return fmt::format("{}<{}>({}, {}, (float){})", o.by_ordinary() ? "w_quantize_by" : "w_quantize", o.type, a, b, c);
}

// By kForms. Replaces the single letters that stand by themselves.
Result<std::string> in_form(const Operation& o) {
  const Form* form = nullptr;
  for (const Form& f : kForms)
    if (f.op == o.in.op) form = &f;
  if (narrow_float(o.in.type))
    for (const Form& f : kNearForms)
      if (f.op == o.in.op) form = &f;
  if (form == nullptr) return unsupported("operation {}", pw_op_name(o.in.op));
  const auto word = [](char ch) { return std::isalnum(static_cast<unsigned char>(ch)) != 0 || ch == '_'; };
  std::string out;
  for (const char* p = form->format; *p != '\0'; ++p) {
    const bool alone = (p == form->format || !word(p[-1])) && !word(p[1]);
    if (alone && *p == 'T')
      out += o.type;
    else if (alone && *p >= 'a' && *p <= 'c')
      out += o.operand(*p - 'a');
    else if (alone && (*p == 'x' || *p == 'y'))
      out += o.immediate(*p == 'x' ? o.in.imm0 : o.in.imm1);
    else
      out += *p;
  }
  return out;
}

Result<std::string> value_of(const Operation& o) {
  const PwInstr& in = o.in;
  switch (in.op) {
    case PwOp::kInput:
      if (in.a < o.inputs.size()) return o.inputs[in.a];
      return invalid_argument("the expression reads operand {} of {}", in.a, o.inputs.size());
    case PwOp::kConst:
      return is_float(in.type) ? o.immediate(in.imm0) : fmt::format("w_cast<{}>({})", o.type, number(in.imm0));
    case PwOp::kCast: return cast(o);
    case PwOp::kCastSaturate: return cast_saturated(o);
    case PwOp::kQuantize: return quantized(o);
    case PwOp::kSub:  // of 0, which the compiler leaves in
      if (o.is_zero(in.b) && o.from() == in.type) return o.operand(0);
      return in_form(o);
    case PwOp::kIsInf: return fmt::format("w_isinf({}, {}, {})", o.operand(0), in.imm0 != 0, in.imm1 != 0);
    case PwOp::kClip:
      return fmt::format("w_clip<{}>({}, {}, {})", o.type, o.operand(0), o.immediate(in.imm0), o.immediate(in.imm1));
    default: return in_form(o);
  }
}

}  // namespace

bool is_ordinary_scale(double scale) {
  int exponent = 0;
  constexpr double kLargestSignificand = 1 - 0x1p-24;
  return scale >= 0x1p-60 && scale <= 0x1p60 && std::frexp(static_cast<float>(scale), &exponent) != kLargestSignificand;
}

// All 2^23 significands were compared, at the floats next to each half.
bool has_even_inverse(double scale) {
  int exponent = 0;
  const double significand = 2 * std::frexp(static_cast<float>(scale), &exponent);
  return scale >= 0x1p-60 && scale <= 0x1p60 && significand != 0x1.bffffap0 && significand != 0x1.bffffcp0 &&
         significand != 0x1.fffffep0;
}

Result<ExpressionText> expression_text(const PointwiseExpr& expr, const std::vector<std::string>& inputs,
                                       const ExpressionRules& rules) {
  ExpressionText text;
  if (expr.empty() && !inputs.empty()) {
    text.results.push_back(inputs[0]);
    text.given.emplace_back();
  }
  std::vector<std::string> values;
  for (const PwInstr& in : expr.code) {
    const char* type = register_type(in.type);
    if (type == nullptr) return unsupported("type {}", dtype_name(in.type));
    WOOTZ_ASSIGN_OR_RETURN(std::string value, value_of({expr, in, type, values, inputs, rules}));
    if (rules.products == Products::kRounded && in.op == PwOp::kMul && type == std::string_view("float"))
      value = fmt::format("w_times({}, {})", values[in.a], values[in.b]);
    if (is_integer(in.type) && dtype_bits(in.type) < 8) {
      value = in_few_bits(in, value);
      if (value.empty()) return unsupported("operation {} on {}", pw_op_name(in.op), dtype_name(in.type));
    }
    values.push_back(fmt::format("t{}", values.size()));
    if (stays_stored(in)) {
      const std::string& name = values.back();
      text.lines +=
          fmt::format("  const float {0}_given = {1};\n  const {2} {0}_stored = w_small<{2}>({0}_given, true);\n", name,
                      value, storage_type(in.type));
      value = name + "_stored.value()";
    }
    text.lines += fmt::format("  const {} {} = {};\n", type, values.back(), value);
  }
  for (const uint16_t out : expr.outputs) {
    const bool stored = stays_stored(expr.code[out]);
    text.results.push_back(values[out] + (stored ? "_stored" : ""));
    text.given.push_back(stored ? values[out] + "_given" : "");
  }
  return text;
}

Status check_epilogue(const Problem& p, DType type) {
  WOOTZ_RETURN_IF_ERROR(check_type(p.outputs[0].dtype));
  if (p.is(Family::kNorm)) WOOTZ_RETURN_IF_ERROR(check_type(p.outputs.back().dtype));
  for (size_t i = static_cast<size_t>(p.num_main); i < p.inputs.size(); ++i) {
    WOOTZ_RETURN_IF_ERROR(check_type(p.inputs[i].dtype));
    if (!is_plain(p.inputs[i].layout)) return unsupported("operands in layout {}", layout_name(p.inputs[i].layout));
  }
  if (p.epilogue.empty()) {
    if (std::string_view(register_type(p.outputs[0].dtype)) != register_type(type))
      return unsupported("a result of {} stored as {}", dtype_name(type), dtype_name(p.outputs[0].dtype));
    return Status();
  }
  if (p.epilogue.outputs.size() != (p.is(Family::kNorm) ? p.outputs.size() : 1))
    return invalid_argument("an epilogue with {} results", p.epilogue.outputs.size());
  const DType read = p.epilogue.input_type(0);
  if (read != DType::kInvalid && std::string_view(register_type(read)) != register_type(type))
    return unsupported("the epilogue reads {}, the kernel gives {}", dtype_name(read), dtype_name(type));
  return expression_text(p.epilogue, std::vector<std::string>(p.epilogue.num_inputs, "0")).status();
}

}  // namespace wootz::cuda
