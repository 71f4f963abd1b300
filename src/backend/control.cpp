#include "backend/control.h"

#include <algorithm>

namespace wootz {
namespace {

bool all_within(const std::vector<int64_t>& list, int64_t low, int64_t high) {
  return std::all_of(list.begin(), list.end(), [&](int64_t v) { return v >= low && v < high; });
}

const PlanTensor* tensor_at(const Program& program, TensorIndex index) {
  return !index.exists() ? nullptr : &program.tensors[index];
}

Status check_pair(const char* what, size_t i, const PlanTensor* outside, const PlanTensor& inside, int more_axes) {
  if (outside == nullptr) return corrupt("{} {} of a body is an operand that is not there", what, i);
  const auto rank = static_cast<int>(inside.dims.size()) + more_axes;
  if (outside->dtype != inside.dtype || static_cast<int>(outside->dims.size()) != rank)
    return corrupt("{} {} of a body is {} of rank {}, outside it is {} of rank {}", what, i, dtype_name(inside.dtype),
                   inside.dims.size(), dtype_name(outside->dtype), outside->dims.size());
  if (outside->layout != Layout::kLinear || inside.layout != Layout::kLinear)
    return corrupt("{} {} of a body is not row-major", what, i);
  return {};
}

Status check_scalar(const PlanTensor& tensor, DType dtype, const char* what) {
  if (tensor.dtype == dtype && tensor.layout == Layout::kLinear) return {};
  return corrupt("the {} is {} in layout {}", what, dtype_name(tensor.dtype), layout_name(tensor.layout));
}

class Check {
 public:
  Check(const Program& program, const Step& step, const ControlForm& form)
      : program_(program), step_(step), form_(form) {}

  Status run() const {
    for (const ControlBody& body : form_.bodies) {
      if (body.program < 0 || static_cast<size_t>(body.program) >= program_.bodies.size())
        return corrupt("body {} of {}", body.program, program_.bodies.size());
      const Program& inner = program_.bodies[static_cast<size_t>(body.program)];
      if (inner.inputs.size() != body.operands.size() ||
          inner.outputs.size() != step_.outputs.size() + form_.first_result())
        return corrupt("a body of {} inputs and {} results for {} and {}", inner.inputs.size(), inner.outputs.size(),
                       body.operands.size(), step_.outputs.size() + form_.first_result());
      for (size_t i = 0; i < body.operands.size(); ++i) WOOTZ_RETURN_IF_ERROR(check_input(inner, body.operands[i], i));
      for (size_t o = 0; o < step_.outputs.size(); ++o) WOOTZ_RETURN_IF_ERROR(check_result(inner, o));
      if (form_.op == ControlForm::Op::kLoop)
        WOOTZ_RETURN_IF_ERROR(
            check_scalar(inner.tensors[inner.outputs[0].tensor], DType::kBool, "condition that a body gives"));
    }
    const PlanTensor* const first = tensor_at(program_, step_.inputs[0]);
    if (form_.op == ControlForm::Op::kIf) {
      if (first == nullptr) return corrupt("no condition");
      return check_scalar(*first, DType::kBool, "condition");
    }
    if (form_.op == ControlForm::Op::kScan) return {};
    if (first != nullptr) WOOTZ_RETURN_IF_ERROR(check_scalar(*first, DType::kI64, "trip count"));
    const PlanTensor* const second = tensor_at(program_, step_.inputs[1]);
    return second == nullptr ? Status() : check_scalar(*second, DType::kBool, "condition");
  }

 private:
  size_t first_state() const { return form_.op == ControlForm::Op::kLoop ? 2 : 0; }

  Status check_input(const Program& inner, int32_t operand, size_t i) const {
    const PlanTensor& inside = inner.tensors[inner.inputs[i].tensor];
    const auto at = static_cast<size_t>(operand);
    if (operand < 0 || at >= step_.inputs.size()) return corrupt("a body reads operand {}", operand);
    const bool scanned = form_.op == ControlForm::Op::kScan && at >= form_.states && at < form_.states + form_.scans;
    if (form_.op == ControlForm::Op::kLoop && at == 0) return check_scalar(inside, DType::kI64, "number of the round");
    if (form_.op == ControlForm::Op::kLoop && at == 1) return check_scalar(inside, DType::kBool, "body's condition");
    const PlanTensor* const outside = tensor_at(program_, step_.inputs[at]);
    WOOTZ_RETURN_IF_ERROR(check_pair("input", i, outside, inside, scanned ? 1 : 0));
    if (scanned && form_.input_axes[at - form_.states] >= static_cast<int64_t>(outside->dims.size()))
      return corrupt("sequence {} runs along axis {}", at - form_.states, form_.input_axes[at - form_.states]);
    return {};
  }

  Status check_result(const Program& inner, size_t o) const {
    const size_t result = o + form_.first_result();
    const PlanTensor& inside = inner.tensors[inner.outputs[result].tensor];
    const bool stacked = form_.op != ControlForm::Op::kIf && o >= form_.states;
    const PlanTensor* const outside = tensor_at(program_, step_.outputs[o]);
    if (outside != nullptr) WOOTZ_RETURN_IF_ERROR(check_pair("result", o, outside, inside, stacked ? 1 : 0));
    if (stacked && form_.op == ControlForm::Op::kScan &&
        form_.output_axes[o - form_.states] > static_cast<int64_t>(inside.dims.size()))
      return corrupt("result {} is stacked along axis {}", o, form_.output_axes[o - form_.states]);
    if (form_.op == ControlForm::Op::kIf || stacked) return {};
    return check_pair("state", o, tensor_at(program_, step_.inputs[first_state() + o]), inside, 0);
  }

  const Program& program_;
  const Step& step_;
  const ControlForm& form_;
};

class Placeholder final : public Kernel {
 public:
  Result<std::unique_ptr<Call>> bind(const BindArgs&) const override {
    return internal_error("a control step is run by the runtime that holds its bodies");
  }
};

}  // namespace

Tactic control_tactic() { return {"runtime", "control_bodies", ""}; }

bool is_control(const Step& step) { return step.problem.family() == Family::kControl; }

void write_control(const ControlForm& form, Problem* problem) {
  ControlParams params;
  params.op = form.op;
  for (const ControlBody& body : form.bodies) {
    params.bodies.push_back(body.program);
    params.operands.emplace_back(body.operands.begin(), body.operands.end());
  }
  params.states = static_cast<int64_t>(form.states);
  params.scans = static_cast<int64_t>(form.scans);
  params.input_axes = form.input_axes;
  params.input_reversed = form.input_reversed;
  params.output_axes = form.output_axes;
  params.output_reversed = form.output_reversed;
  problem->params = std::move(params);
}

Result<ControlForm> read_control(const Problem& problem) {
  ControlForm form;
  const auto& params = problem.as<ControlParams>();
  const std::string_view op = name_of(params.op);
  form.op = params.op;
  const size_t inputs = problem.inputs.size(), results = problem.outputs.size();
  const Ints& programs = params.bodies;
  if (programs.size() != (form.op == ControlForm::Op::kIf ? 2 : 1) || params.operands.size() != programs.size() ||
      !all_within(programs, 0, INT32_MAX))
    return corrupt("{} with {} bodies", op, programs.size());
  if (!problem.epilogue.empty()) return corrupt("{} with an epilogue", op);
  for (size_t b = 0; b < programs.size(); ++b) {
    ControlBody body;
    body.program = static_cast<int32_t>(programs[b]);
    const Ints& operands = params.operands[b];
    if (!all_within(operands, 0, static_cast<int64_t>(inputs))) return corrupt("body {} reads no operand", b);
    body.operands.assign(operands.begin(), operands.end());
    form.bodies.push_back(std::move(body));
  }
  if (form.op == ControlForm::Op::kIf) {
    if (inputs < 1) return corrupt("If without a condition");
    return form;
  }
  const int64_t states = params.states, scans = params.scans;
  const auto room = static_cast<int64_t>(inputs) - (form.op == ControlForm::Op::kLoop ? 2 : 0);
  if (states < 0 || states > room || states > static_cast<int64_t>(results))
    return corrupt("{} with {} states, {} operands and {} results", op, states, inputs, results);
  form.states = static_cast<size_t>(states);
  if (form.op == ControlForm::Op::kLoop) return form;
  if (scans < 1 || scans > room - states) return corrupt("Scan of {} sequences", scans);
  form.scans = static_cast<size_t>(scans);
  form.input_axes = params.input_axes;
  form.input_reversed = params.input_reversed;
  form.output_axes = params.output_axes;
  form.output_reversed = params.output_reversed;
  const size_t stacked = results - form.states;
  if (form.input_axes.size() != form.scans || form.input_reversed.size() != form.scans ||
      form.output_axes.size() != stacked || form.output_reversed.size() != stacked ||
      !all_within(form.input_axes, 0, limits::kMaxRank) || !all_within(form.output_axes, 0, limits::kMaxRank))
    return corrupt("Scan with axes for {} of {} sequences and {} of {} results", form.input_axes.size(), form.scans,
                   form.output_axes.size(), stacked);
  return form;
}

Status check_control(const Program& program, const Step& step) {
  if (!(step.tactic == control_tactic())) return corrupt("control by the tactic {}", step.tactic.to_string());
  WOOTZ_ASSIGN_OR_RETURN(const ControlForm form, read_control(step.problem));
  return Check(program, step, form).run();
}

std::unique_ptr<Kernel> control_placeholder() { return std::make_unique<Placeholder>(); }

}  // namespace wootz
