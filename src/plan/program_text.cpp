#include "plan/program_text.h"

#include <fmt/format.h>

#include "base/json.h"
#include "plan/program_words.h"

namespace wootz {
namespace {

using program_words::kKinds, program_words::kShapeOps, program_words::kSources;

std::string quoted(const std::string& text) {
  return SortedJson(text).dump(-1, ' ', false, SortedJson::error_handler_t::replace);
}

template <typename I>
std::string numbers(const std::vector<I>& list) {
  std::string text;
  for (const I n : list) text += (text.empty() ? "" : " ") + (n.exists() ? std::to_string(n.number()) : "-");
  return text;
}

class Printer {
 public:
  explicit Printer(const std::function<std::string(const PlanConstant&)>& digest) : digest_(digest) {}

  void program(const Program& p) {
    line("program {} {} {{", quoted(p.name), p.backend);
    indent_ += 2;
    if (!p.device.empty()) line("device {}", quoted(p.device));
    for (const auto& [name, value] : p.properties) line("property {} = {}", name, quoted(value));
    shapes(p);
    for (const TensorIndex t : p.tensors.indices()) tensor(t, p.tensors[t]);
    for (const ConstantIndex c : p.constants.indices()) constant(c, p.constants[c]);
    for (const IoTensor& io : p.inputs) line("input {}{}", io.tensor, io.is_shape_tensor ? " decides shapes" : "");
    for (const IoTensor& io : p.outputs) line("output {}", io.tensor);
    for (const StepIndex s : p.steps.indices()) step(s, p.steps[s]);
    for (const NativeCode& code : p.native) line("native {} {} bytes", quoted(code.key), code.bytes.size());
    for (size_t b = 0; b < p.bodies.size(); ++b) {
      line("body {}:", b);
      program(p.bodies[b]);
    }
    indent_ -= 2;
    line("}}");
  }
  std::string take() { return std::move(out_); }

 private:
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    out_.append(indent_, ' ');
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    out_ += '\n';
  }

  void shapes(const Program& p) {
    for (const ExpressionIndex e : p.exprs.indices()) {
      const ShapeExpr& expr = p.exprs[e];
      if (expr.op == ShapeOp::kConst)
        line("expr {} = {}", e, expr.value);
      else if (expr.op == ShapeOp::kSymbol)
        line("expr {} = symbol {}", e, expr.value);
      else
        line("expr {} = {} {}", e, kShapeOps[static_cast<size_t>(expr.op)], numbers(expr.operands));
    }
    for (const SymbolIndex s : p.symbols.indices()) {
      const PlanSymbol& symbol = p.symbols[s];
      line("symbol {} {} = {} tensor {} axis {}", s, quoted(symbol.name), kSources[static_cast<size_t>(symbol.source)],
           symbol.tensor, symbol.axis);
    }
    for (const PlanProfile& profile : p.profiles) {
      std::string ranges;
      for (const SymbolRange& r : profile.symbols) ranges += fmt::format(" [{},{},{}]", r.min, r.opt, r.max);
      if (profile.body >= 0) ranges += fmt::format(" by body {}", profile.body);
      line("profile{}", ranges);
    }
    for (const ShapeCheck& check : p.checks) line("check {} {}", check.expr, quoted(check.message));
  }

  void tensor(TensorIndex number, const PlanTensor& t) {
    std::string more;
    if (t.view_of.exists()) more += fmt::format(" of {}", t.view_of);
    if (t.offset.exists()) more += fmt::format(" from element {}", t.offset);
    if (!t.subviews.empty()) more += fmt::format(" subviews [{}]", numbers(t.subviews));
    if (!t.values.empty()) more += fmt::format(" values [{}]", numbers(t.values));
    if (t.constant.exists()) more += fmt::format(" {}", t.constant);
    line("tensor {} {} {} {} {}{} [{}]", number, quoted(t.name), dtype_name(t.dtype), layout_name(t.layout),
         kKinds[static_cast<size_t>(t.kind)], more, numbers(t.dims));
  }

  void constant(ConstantIndex number, const PlanConstant& c) {
    const std::string form = c.form_version == 0 ? "" : fmt::format(" form {}", c.form_version);
    line("constant {} {} {}{} {} {} bytes{}{}", number, quoted(c.name), dtype_name(c.dtype), c.dims.to_string(),
         layout_name(c.layout), c.bytes, form, digest_ && c.has_bytes() ? " " + digest_(c) : "");
  }

  void step(StepIndex number, const Step& s) {
    line("step {} {}", number, quoted(s.name));
    line("  computes {}", s.problem.key());
    if (!s.tactic.provider.empty()) line("  by {}", s.tactic.to_string());
    line("  reads {}, writes {}, workspace {}, {} us, stream {}", numbers(s.inputs), numbers(s.outputs), s.workspace,
         s.measured_us, s.stream);
    std::string names;
    for (const std::string& name : s.provenance) names += ' ' + quoted(name);
    if (!names.empty()) line("  from{}", names);
  }

  const std::function<std::string(const PlanConstant&)>& digest_;
  std::string out_;
  size_t indent_ = 0;
};

}  // namespace

std::string print_program(const Program& program, const std::function<std::string(const PlanConstant&)>& digest) {
  Printer printer(digest);
  printer.program(program);
  return printer.take();
}

}  // namespace wootz
