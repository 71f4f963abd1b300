#include "plan/verify_problem.h"

#include "backend/even_layout.h"
#include "backend/plugin.h"
#include "backend/relayout.h"
#include "plan/plan_limits.h"

namespace wootz {
namespace {

// A kernel takes its operand's memory to be as the problem says. Row-major and channels-last take equal room, and below
// rank 3 all orders are one.
bool layouts_agree(const Program& program, const TensorDesc& desc, const PlanTensor& tensor) {
  if (desc.layout == tensor.layout || even_layout(program, tensor, desc.layout) == tensor.layout) return true;
  const bool packed = tensor.layout == Layout::kOpaque;
  // A kernel that would have packed a constant for itself may take it as it is; it is given the size.
  if (desc.layout == Layout::kOpaque || packed) return !packed && desc.constant;
  return tensor.dims.size() < 3 || (is_plain(desc.layout) && is_plain(tensor.layout));
}

Status check_operand(const Program& program, const Problem& problem, const TensorDesc& desc, TensorIndex index,
                     const ShapeValues& shapes) {
  if (static_cast<int>(desc.layout) >= kLayoutCount) return corrupt("layout number {}", static_cast<int>(desc.layout));
  if (at_border_only(desc.layout) && !problem.is(Family::kReformat) && !is_plugin(problem))
    return corrupt("a step of family '{}' in layout {}, which is for inputs and outputs of the network, and plugins",
                   family_name(problem.family()), layout_name(desc.layout));
  if (!index.exists()) {
    if (desc.dtype != DType::kInvalid || desc.constant || !desc.dims.empty() || !desc.max_dims.empty())
      return corrupt("is omitted but described");
    return {};
  }
  const PlanTensor& tensor = program.tensors[index];
  const std::string name = shown(tensor.name);
  if (desc.dtype != tensor.dtype)
    return corrupt("is described as {}, but tensor '{}' is {}", dtype_name(desc.dtype), name, dtype_name(tensor.dtype));
  if (desc.dims.size() != tensor.dims.size() || desc.max_dims.size() != tensor.dims.size())
    return corrupt("is described with shape {} (at most {}), but tensor '{}' has rank {}", desc.dims.to_string(),
                   desc.max_dims.to_string(), name, tensor.dims.size());
  if (desc.constant != (tensor.kind == TensorKind::kConstant))
    return corrupt("is {}described as a constant, but tensor '{}' is {}one", desc.constant ? "" : "not ", name,
                   desc.constant ? "not " : "");
  if (!layouts_agree(program, desc, tensor))
    return corrupt("is described in layout {}, but tensor '{}' lies in {}", layout_name(desc.layout), name,
                   layout_name(tensor.layout));
  for (const Dims* dims : {&desc.dims, &desc.max_dims}) {
    if (Result<int64_t> volume = checked_volume(dims->span()); !volume.ok())
      return volume.status().with_prefix(fmt::format("tensor '{}'", name));
    for (size_t a = 0; a < dims->size(); ++a) {
      const ExpressionIndex e = tensor.dims[a];
      if (shapes.known[e] && shapes.values[e] != (*dims)[a])
        return corrupt("is described with shape {}, but dimension {} of tensor '{}' is {}", dims->to_string(), a, name,
                       shapes.values[e]);
    }
  }
  return {};
}

// The expression's operands and results against the tensors that it will read and write as those types.
Status check_expression(const Problem& problem) {
  const PointwiseExpr& expr = problem.epilogue;
  const bool is_body = problem.family() == Family::kPointwise;
  if (is_body && problem.num_main != 0) return corrupt("{} main inputs, a pointwise step has 0", problem.num_main);
  if (expr.empty()) {
    if (is_body) return corrupt("a pointwise step without a body");
    if (!expr.outputs.empty() || expr.num_inputs != 0) return corrupt("an empty expression with operands or results");
    return {};
  }
  if (has_trait(problem.family(), kNoExpression))
    return corrupt("a step of family '{}' carries no expression", family_name(problem.family()));
  WOOTZ_RETURN_IF_ERROR(expr.verify());
  const auto num_main = static_cast<size_t>(problem.num_main);
  const size_t own = is_body ? 0 : 1;  // operand 0 of an epilogue is the family's own result
  const size_t there = own + problem.inputs.size() - num_main;
  if (expr.num_inputs > there) return corrupt("the expression reads {} operands of {}", expr.num_inputs, there);
  for (uint16_t k = 0; k < expr.num_inputs; ++k) {
    const DType read = expr.input_type(k);
    const DType have = k < own ? problem.acc_dtype : problem.inputs[num_main + k - own].dtype;
    if (read != DType::kInvalid && read != have)
      return corrupt("the expression reads operand {} as {}, it is {}", k, dtype_name(read), dtype_name(have));
  }
  const bool several = is_body || problem.is(Family::kNorm);  // whose result may be stored in a second type, too
  if (expr.outputs.size() != (several ? problem.outputs.size() : 1))
    return corrupt("the expression stores {} values, the step has {} outputs", expr.outputs.size(),
                   problem.outputs.size());
  for (size_t o = 0; o < expr.outputs.size(); ++o) {
    const DType have = o < problem.outputs.size() ? problem.outputs[o].dtype : DType::kInvalid;
    if (have != expr.output_type(o) && !(is_body && have == DType::kInvalid))
      return corrupt("the expression stores result {} as {}, the output is {}", o, dtype_name(expr.output_type(o)),
                     dtype_name(have));
  }
  return {};
}

}  // namespace

std::string shown(std::string_view name) {
  constexpr size_t kMost = 200;
  std::string text(name.substr(0, kMost));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  if (name.size() > kMost) text += "...";
  return text;
}

Status check_name(std::string_view what, std::string_view text, size_t limit) {
  if (text.size() <= limit) return {};
  return make_error(Code::kResourceExhausted, "{} '{}' has {} bytes, the limit is {}", what, shown(text), text.size(),
                    limit);
}

Status verify_problem(const Program& program, const Step& step, const ShapeValues& shapes) {
  const Problem& problem = step.problem;
  if (problem.inputs.size() != step.inputs.size() || problem.outputs.size() != step.outputs.size())
    return corrupt("the problem has {} inputs and {} outputs, the step {} and {}", problem.inputs.size(),
                   problem.outputs.size(), step.inputs.size(), step.outputs.size());
  if (problem.num_main < 0 || static_cast<size_t>(problem.num_main) > problem.inputs.size())
    return corrupt("{} main inputs of {}", problem.num_main, problem.inputs.size());
  if (static_cast<int>(problem.acc_dtype) >= kDTypeCount)
    return corrupt("element type number {}", static_cast<int>(problem.acc_dtype));
  WOOTZ_RETURN_IF_ERROR(check_params(problem.params));
  for (size_t i = 0; i < step.inputs.size(); ++i)
    if (Status status = check_operand(program, problem, problem.inputs[i], step.inputs[i], shapes); !status.ok())
      return status.with_prefix(fmt::format("input {}", i));
  for (size_t o = 0; o < step.outputs.size(); ++o)
    if (Status status = check_operand(program, problem, problem.outputs[o], step.outputs[o], shapes); !status.ok())
      return status.with_prefix(fmt::format("output {}", o));
  return check_expression(problem);
}

}  // namespace wootz
