// Text form of expressions: "in 2; v0=input.f32(0); v1=leaky_relu.f32(v0)[0x1.4p-4]; out v1". "in N" stands only where
// the number of operands does not follow from the loads. Immediates that are both +0 are left out.
#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/limits.h"
#include "base/pointwise.h"

namespace wootz {
namespace {

std::string number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return fmt::format("{:a}", value);
}

bool is_zero(double value) { return std::bit_cast<uint64_t>(value) == 0; }

uint16_t counted_inputs(const PointwiseExpr& expr) {
  unsigned count = 0;
  for (const PwInstr& instr : expr.code)
    if (instr.op == PwOp::kInput) count = std::max(count, instr.a + 1u);
  return static_cast<uint16_t>(count);
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool at_end() {
    skip_space();
    return at_ >= text_.size();
  }
  // Letters, digits and underscores.
  std::string_view word() {
    skip_space();
    const size_t start = at_;
    const auto part = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    while (at_ < text_.size() && part(text_[at_])) ++at_;
    return text_.substr(start, at_ - start);
  }
  bool index(std::string_view digits, uint16_t* out) const {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *out);
    return !digits.empty() && error == std::errc() && end == digits.data() + digits.size();
  }
  // The name of an instruction's value, "v12".
  bool value(uint16_t* out) {
    const std::string_view w = word();
    return w.size() > 1 && w[0] == 'v' && index(w.substr(1), out);
  }
  bool immediate(double* out) {
    const bool negative = accept('-');
    skip_space();
    const std::string_view rest = text_.substr(at_);
    if (rest.starts_with("nan") || rest.starts_with("inf")) {
      *out = rest[0] == 'n' ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
      at_ += 3;
    } else {
      const bool hex = rest.starts_with("0x") || rest.starts_with("0X");
      const char* begin = rest.data() + (hex ? 2 : 0);
      if (begin == rest.data() + rest.size() || *begin == '-') return false;
      const auto [end, error] = std::from_chars(begin, rest.data() + rest.size(), *out,
                                                hex ? std::chars_format::hex : std::chars_format::general);
      if (error != std::errc()) return false;
      at_ += static_cast<size_t>(end - rest.data());
    }
    if (negative) *out = -*out;
    return true;
  }
  Status fail(const char* wanted) {
    return invalid_argument("expression, column {}: {} expected before \"{}\"", at_ + 1, wanted, text_.substr(at_, 24));
  }

 private:
  std::string_view text_;
  size_t at_ = 0;
};

// What follows "vN=": the operation, its operands and immediates.
Status parse_instruction(Reader& in, PwInstr* instr) {
  if (!pw_op_from_name(in.word(), &instr->op)) return in.fail("an operation");
  if (!in.accept('.')) return in.fail("'.' and a type");
  instr->type = dtype_from_name(in.word());
  if (instr->type == DType::kInvalid) return in.fail("a type");
  uint16_t* const operands[] = {&instr->a, &instr->b, &instr->c};
  const int arity = pw_op_arity(instr->op);
  if (instr->op == PwOp::kInput) {
    if (!in.accept('(') || !in.index(in.word(), &instr->a) || !in.accept(')')) return in.fail("(operand number)");
  } else if (arity > 0) {
    for (int i = 0; i < arity; ++i)
      if (!in.accept(i == 0 ? '(' : ',') || !in.value(operands[i])) return in.fail("an operand");
    if (!in.accept(')')) return in.fail("')'");
  }
  if (in.accept('[')) {
    if (!in.immediate(&instr->imm0)) return in.fail("a number");
    if (in.accept(',') && !in.immediate(&instr->imm1)) return in.fail("a number");
    if (!in.accept(']')) return in.fail("']'");
  }
  return {};
}

}  // namespace

std::string PointwiseExpr::to_string() const {
  if (code.empty() && outputs.empty() && num_inputs == 0) return "";
  std::string s;
  if (num_inputs != counted_inputs(*this)) s = fmt::format("in {}; ", num_inputs);
  for (size_t i = 0; i < code.size(); ++i) {
    const PwInstr& instr = code[i];
    s += fmt::format("v{}={}.{}", i, pw_op_name(instr.op), dtype_name(instr.type));
    const int arity = pw_op_arity(instr.op);
    if (instr.op == PwOp::kInput) s += fmt::format("({})", instr.a);
    if (arity == 1) s += fmt::format("(v{})", instr.a);
    if (arity == 2) s += fmt::format("(v{},v{})", instr.a, instr.b);
    if (arity == 3) s += fmt::format("(v{},v{},v{})", instr.a, instr.b, instr.c);
    if (!is_zero(instr.imm1)) {
      s += '[' + number(instr.imm0) + ',' + number(instr.imm1) + ']';
    } else if (!is_zero(instr.imm0)) {
      s += '[' + number(instr.imm0) + ']';
    }
    s += "; ";
  }
  s += "out";
  for (size_t i = 0; i < outputs.size(); ++i) s += fmt::format("{}v{}", i == 0 ? " " : ", ", outputs[i]);
  return s;
}

Result<PointwiseExpr> PointwiseExpr::parse(std::string_view text) {
  Reader in(text);
  PointwiseExpr expr;
  bool given_inputs = false;
  uint16_t index = 0;
  for (;;) {
    const std::string_view word = in.word();
    if (word == "out") break;
    if (word == "in" && expr.code.empty() && !given_inputs) {
      if (!in.index(in.word(), &expr.num_inputs)) return in.fail("the number of operands");
      given_inputs = true;
    } else {
      if (word.size() < 2 || word[0] != 'v' || !in.index(word.substr(1), &index) || index != expr.code.size())
        return in.fail(fmt::format("v{} or out", expr.code.size()).c_str());
      if (expr.code.size() >= static_cast<size_t>(limits::kMaxExprInstructions))
        return make_error(Code::kResourceExhausted, "an expression of more than {} instructions",
                          limits::kMaxExprInstructions);
      if (!in.accept('=')) return in.fail("'='");
      WOOTZ_RETURN_IF_ERROR(parse_instruction(in, &expr.code.emplace_back()));
    }
    if (!in.accept(';')) return in.fail("';'");
  }
  do {
    if (!in.value(&index)) return in.fail("a value to store");
    expr.outputs.push_back(index);
  } while (in.accept(',') && expr.outputs.size() <= static_cast<size_t>(limits::kMaxExprInstructions));
  if (!in.at_end()) return in.fail("the end");
  if (!given_inputs) {
    for (const PwInstr& instr : expr.code)
      if (instr.op == PwOp::kInput && instr.a == UINT16_MAX) return in.fail("a smaller operand number");
    expr.num_inputs = counted_inputs(expr);
  }
  WOOTZ_RETURN_IF_ERROR(expr.verify());
  return expr;
}

}  // namespace wootz
