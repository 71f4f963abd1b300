#include "backends/cpu/epilogue.h"

namespace wootz::cpu {
namespace {

// Whether the first output is what the kernel gives, as it keeps it.
bool is_own_result(const PointwiseExpr& expr, DType tile) {
  const PwInstr& first = expr.code[expr.outputs[0]];
  return first.op == PwOp::kInput && first.a == 0 && first.type == tile;
}

// Norms alone give a second result.
Status check_outputs(const Problem& p) {
  const PointwiseExpr& expr = p.epilogue;
  if (expr.outputs.size() != (p.is(Family::kNorm) ? p.outputs.size() : 1))
    return invalid_argument("an epilogue with {} results", expr.outputs.size());
  for (size_t o = 0; o < expr.outputs.size(); ++o)
    if (expr.output_type(o) != p.outputs[o].dtype)
      return invalid_argument("the epilogue gives {}, the output is {}", dtype_name(expr.output_type(o)),
                              dtype_name(p.outputs[o].dtype));
  return Status();
}

}  // namespace

Result<Epilogue> Epilogue::make(const Problem& p, DType tile, Isa isa) {
  WOOTZ_RETURN_IF_ERROR(check_channels_that_vary(p));
  Epilogue e;
  const DType out = p.outputs[0].dtype;
  PointwiseExpr expr = p.epilogue;
  if (expr.empty()) {
    if (register_type(out) != tile)
      return unsupported("a result of {} is not kept as {}", dtype_name(out), dtype_name(tile));
    e.direct_ = e.trivial_ = out == tile;
    expr.outputs = {expr.input(0, out)};
  } else {
    WOOTZ_RETURN_IF_ERROR(check_outputs(p));
    const DType read = expr.input_type(0);
    if (read != DType::kInvalid && register_type(read) != tile)
      return unsupported("the epilogue reads {}, the kernel gives {}", dtype_name(read), dtype_name(tile));
    if (expr.num_inputs > 1 + p.inputs.size() - static_cast<size_t>(p.num_main))
      return invalid_argument("the epilogue reads {} operands, the step has {}", expr.num_inputs - 1,
                              p.inputs.size() - static_cast<size_t>(p.num_main));
    if (expr.outputs.size() > 1 && is_own_result(expr, tile)) {
      e.direct_ = true;
      expr.outputs.erase(expr.outputs.begin());
    }
  }
  WOOTZ_ASSIGN_OR_RETURN(e.code_, PointwiseCode::compile(expr, isa, 0));
  return e;
}

Result<Epilogue::Bound> Epilogue::bind(const Problem& p, const BindArgs& args) const {
  if (args.inputs.size() != p.inputs.size() || args.outputs.size() != p.outputs.size())
    return invalid_argument("{} inputs and {} outputs to bind, the problem has {} and {}", args.inputs.size(),
                            args.outputs.size(), p.inputs.size(), p.outputs.size());
  std::vector<PwView> views(1);
  const auto main = static_cast<size_t>(p.num_main);
  for (size_t i = main; i < p.inputs.size(); ++i)
    views.push_back({p.inputs[i].dtype, p.inputs[i].layout, args.inputs[i]});
  Bound b;
  WOOTZ_ASSIGN_OR_RETURN(
      b.bound_, BoundPointwise::bind(code_, views, {p.outputs[0].dtype, p.outputs[0].layout, args.outputs[0]}, 0));
  b.first_ = static_cast<ptrdiff_t>(p.num_main) - 1;
  b.direct_ = direct_;
  b.stored_ = direct_ && !trivial_ ? 1 : 0;
  b.trivial_ = trivial_;
  return b;
}

}  // namespace wootz::cpu
