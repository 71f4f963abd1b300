// A text of all that a program holds, for tests: independent of the plan's encoding.
#pragma once

#include <string>

#include "backend/program.h"
#include "backend/refit.h"

namespace wootz {

// Everything in a program, weights included: equal texts, equal programs. Independent of the plan's encoding.
inline std::string dump(const Program& p) {
  std::string s = fmt::format("{}|{}|{}\n", p.name, p.backend, p.device);
  const auto list = [&](const auto& values) {
    for (const auto v : values) s += fmt::format("{},", v);
    s += '|';
  };
  for (const ShapeExpr& e : p.exprs) {
    s += fmt::format("expr {} {} ", static_cast<int>(e.op), e.value);
    list(e.operands);
  }
  for (const PlanSymbol& y : p.symbols)
    s += fmt::format("symbol {} {} {} {}\n", y.name, static_cast<int>(y.source), y.tensor, y.axis);
  for (const PlanTensor& t : p.tensors) {
    s += fmt::format("tensor {} {} {} {} {} {} {} ", t.name, dtype_name(t.dtype), layout_name(t.layout),
                     static_cast<int>(t.kind), t.view_of, t.offset, t.constant);
    list(t.dims);
    list(t.subviews);
    list(t.values);
  }
  for (const PlanConstant& c : p.constants) {
    s += fmt::format("constant {} {} {} {} {} {} ", c.name, dtype_name(c.dtype), c.dims.to_string(),
                     layout_name(c.layout), c.form_version, c.bytes);
    s.append(static_cast<const char*>(c.data), c.bytes);
  }
  for (const Step& t : p.steps) {
    s += fmt::format("step {} {} {} {} {} {} ", t.name, t.problem.key(), t.tactic.to_string(), t.workspace,
                     t.measured_us, t.stream);
    for (const std::string& name : t.provenance) s += name + ',';
    list(t.inputs);
    list(t.outputs);
  }
  for (const auto* ios : {&p.inputs, &p.outputs})
    for (const IoTensor& io : *ios) s += fmt::format("io {} {}\n", io.tensor, io.is_shape_tensor);
  for (const PlanProfile& profile : p.profiles)
    for (const SymbolRange& r : profile.symbols)
      s += fmt::format("range {} {} {} by {}\n", r.min, r.opt, r.max, profile.body);
  for (const NativeCode& code : p.native) {
    s += fmt::format("native {} {}:", code.key, code.bytes.size());
    for (const std::byte b : code.bytes) s += fmt::format(" {}", static_cast<int>(b));
    s += "\n";
  }
  if (p.refit != nullptr) {
    s += fmt::format("refit {} {} {}\n", p.refit->graph, p.refit->settings, p.refit->choices);
    for (const RefitConstant& c : p.refit->constants)
      s += fmt::format("constant {} {} {}\n", dtype_name(c.dtype), c.dims.to_string(),
                       std::string_view(static_cast<const char*>(c.data), c.bytes));
    for (const RefitWeight& w : p.refit->weights)
      s += fmt::format("weight {} {} {} {} {}\n", w.name, w.layer, w.role, w.constant, w.refittable);
  }
  for (const ShapeCheck& check : p.checks) s += fmt::format("check {} {}\n", check.expr, check.message);
  for (const auto& [name, value] : p.properties) s += fmt::format("property {}={}\n", name, value);
  for (const Program& body : p.bodies) s += fmt::format("body ({})\n", dump(body));
  return s;
}

}  // namespace wootz
