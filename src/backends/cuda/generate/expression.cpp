// Pointwise expressions as source.
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
    {PwOp::kSigmoid, "w_sigmoid<T>(a)"},
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

// Replaces the single letters that stand by themselves.
std::string fill(const char* format, const char* type, const std::string& a, const std::string& b, const std::string& c,
                 const std::string& x, const std::string& y) {
  const auto word = [](char ch) { return std::isalnum(static_cast<unsigned char>(ch)) != 0 || ch == '_'; };
  std::string out;
  for (const char* p = format; *p != '\0'; ++p) {
    const bool alone = (p == format || !word(p[-1])) && !word(p[1]);
    if (alone && *p == 'T')
      out += type;
    else if (alone && (*p == 'a' || *p == 'b' || *p == 'c'))
      out += *p == 'a' ? a : *p == 'b' ? b : c;
    else if (alone && (*p == 'x' || *p == 'y'))
      out += *p == 'x' ? x : y;
    else
      out += *p;
  }
  return out;
}

bool narrow_float(DType type) { return is_float(type) && dtype_bits(type) <= 16; }

bool is_small(DType type) { return is_float(type) && dtype_bits(type) <= 8; }
const char* small_type(DType type) { return type == DType::kF4E2M1 ? "f4e2m1" : storage_type(type); }

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

}  // namespace

Status write_expression(const PointwiseExpr& expr, const std::vector<std::string>& inputs, const std::string& prefix,
                        Writer* to, std::vector<std::string>* results) {
  std::vector<std::string> values;
  for (size_t i = 0; i < expr.code.size(); ++i) {
    const PwInstr& in = expr.code[i];
    const char* type = register_type(in.type);
    if (type == nullptr) return unsupported("type {}", dtype_name(in.type));
    const int arity = pw_op_arity(in.op);
    const auto operand = [&](uint16_t v) { return v < values.size() ? values[v] : std::string("0"); };
    const std::string a = arity > 0 ? operand(in.a) : "", b = arity > 1 ? operand(in.b) : "",
                      c = arity > 2 ? operand(in.c) : "";
    const DType from = arity > 0 ? expr.code[in.a].type : in.type;
    const auto immediate = [&](double v) {
      if (is_float(in.type)) return fmt::format("({}){}", type, number(v));
      const char* sat = "w_sat";
      return fmt::format("{}<{}>({})", sat, type, number(v));
    };
    std::string value;
    switch (in.op) {
      case PwOp::kInput:
        if (in.a >= inputs.size())
          return invalid_argument("the expression reads operand {} of {}", in.a, inputs.size());
        value = inputs[in.a];
        break;
      case PwOp::kConst:
        value = is_float(in.type) ? immediate(in.imm0) : fmt::format("w_cast<{}>({})", type, number(in.imm0));
        break;
      case PwOp::kCast:
        if (is_small(in.type))
          value = fmt::format("w_small<{}>((float){}, false).value()", small_type(in.type), a);
        else
          value = narrow_float(in.type) ? fmt::format("w_round_to<{}>((float){})", storage_type(in.type), a)
                                        : fmt::format("w_cast<{}>({})", type, a);
        break;
      case PwOp::kCastSaturate: {
        if (!is_float(in.type)) {
          value = fmt::format("w_sat<{}>({})", type, a);
          break;
        }
        if (is_small(in.type)) {
          value = fmt::format("w_small<{}>((float){}, true).value()", small_type(in.type), a);
          break;
        }
        const double limit = in.type == DType::kF16 ? 65504 : in.type == DType::kBF16 ? 0x1.fep127 : 0;
        if (limit != 0)
          value = fmt::format("w_round_to<{}>(w_clip<float>((float){}, {}f, {}f))", storage_type(in.type), a,
                              fmt::format("{:.9g}", -limit) + (limit == 65504 ? ".0" : ""),
                              fmt::format("{:.9g}", limit) + (limit == 65504 ? ".0" : ""));
        else if (in.type == DType::kF32 && from == DType::kF64)
          value = fmt::format("(float)w_clip<double>({}, -0x1.fffffep127, 0x1.fffffep127)", a);
        else
          value = fmt::format("({}){}", type, a);
        break;
      }
      case PwOp::kQuantize:
        if (dtype_bits(from) > 32 || (is_float(in.type) && !is_small(in.type)))
          return unsupported("quantize of {} to {}", dtype_name(from), dtype_name(in.type));
        if (is_small(in.type)) {
          value = fmt::format("w_small<{}>((float)((double)({} / {}) + (double){}), true).value()", small_type(in.type),
                              a, b, c);
          break;
        }
        value = fmt::format("w_quantize<{}>({}, {}, (float){})", type, a, b, c);
        break;
      case PwOp::kIsInf: value = fmt::format("w_isinf({}, {}, {})", a, in.imm0 != 0, in.imm1 != 0); break;
      case PwOp::kClip:
        value = fmt::format("w_clip<{}>({}, {}, {})", type, a, immediate(in.imm0), immediate(in.imm1));
        break;
      default: {
        const Form* form = nullptr;
        for (const Form& f : kForms)
          if (f.op == in.op) form = &f;
        if (form == nullptr) return unsupported("operation {}", pw_op_name(in.op));
        value = fill(form->format, type, a, b, c, immediate(in.imm0), immediate(in.imm1));
      }
    }
    if (is_integer(in.type) && dtype_bits(in.type) < 8) {
      value = in_few_bits(in, value);
      if (value.empty()) return unsupported("operation {} on {}", pw_op_name(in.op), dtype_name(in.type));
    }
    const std::string name = fmt::format("{}{}", prefix, i);
    to->line("  const {} {} = {};", type, name, value);
    values.push_back(name);
  }
  for (const uint16_t out : expr.outputs) results->push_back(values[out]);
  return Status();
}

std::string epilogue_parameters(const Problem& p) {
  std::string text;
  for (size_t i = static_cast<size_t>(p.num_main); i < p.inputs.size(); ++i)
    text += fmt::format("const {}* __restrict__ e{}, ", storage_type(p.inputs[i].dtype),
                        i - static_cast<size_t>(p.num_main) + 1);
  return text;
}

void add_epilogue_pointers(const Problem& p, std::vector<Pointer>* pointers) {
  for (size_t i = static_cast<size_t>(p.num_main); i < p.inputs.size(); ++i)
    pointers->push_back({false, static_cast<int>(i)});
}

Status check_epilogue(const Problem& p, DType type) {
  WOOTZ_RETURN_IF_ERROR(check_type(p.outputs[0].dtype));
  for (size_t i = static_cast<size_t>(p.num_main); i < p.inputs.size(); ++i) {
    WOOTZ_RETURN_IF_ERROR(check_type(p.inputs[i].dtype));
    if (!is_plain(p.inputs[i].layout)) return unsupported("operands in layout {}", layout_name(p.inputs[i].layout));
  }
  if (p.epilogue.empty()) {
    if (std::string_view(register_type(p.outputs[0].dtype)) != register_type(type))
      return unsupported("a result of {} stored as {}", dtype_name(type), dtype_name(p.outputs[0].dtype));
    return Status();
  }
  if (p.epilogue.outputs.size() != 1) return invalid_argument("an epilogue with {} results", p.epilogue.outputs.size());
  const DType read = p.epilogue.input_type(0);
  if (read != DType::kInvalid && std::string_view(register_type(read)) != register_type(type))
    return unsupported("the epilogue reads {}, the kernel gives {}", dtype_name(read), dtype_name(type));
  Writer scratch;
  std::vector<std::string> inputs(p.epilogue.num_inputs, "0"), results;
  return write_expression(p.epilogue, inputs, "t", &scratch, &results);
}

Status write_epilogue(const Problem& p, DType type, const std::string& main, const std::vector<std::string>& names,
                      const std::string& at, Writer* to) {
  (void)type;
  std::string value = main;
  if (!p.epilogue.empty()) {
    std::vector<std::string> inputs{main}, results;
    for (size_t k = 0; k < names.size(); ++k) inputs.push_back(fmt::format("w_get(e{}[{}])", k + 1, names[k]));
    WOOTZ_RETURN_IF_ERROR(write_expression(p.epilogue, inputs, "t", to, &results));
    value = results[0];
  }
  to->line("  y[{}] = Put<{}>::to({});", at, storage_type(p.outputs[0].dtype), value);
  return Status();
}

}  // namespace wootz::cuda
