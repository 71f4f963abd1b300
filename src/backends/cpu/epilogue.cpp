#include "backends/cpu/epilogue.h"

namespace wootz::cpu {

Result<Epilogue> Epilogue::make(const Problem& p, DType tile, Isa isa) {
  WOOTZ_RETURN_IF_ERROR(check_channels_that_vary(p));
  Epilogue e;
  const DType out = p.outputs[0].dtype;
  PointwiseExpr expr = p.epilogue;
  if (expr.empty()) {
    if (register_type(out) != tile)
      return unsupported("a result of {} is not kept as {}", dtype_name(out), dtype_name(tile));
    e.trivial_ = out == tile;
    expr.outputs = {expr.input(0, out)};
  } else {
    if (expr.outputs.size() != 1 || expr.output_type() != out)
      return invalid_argument("the epilogue gives {}, the output is {}", dtype_name(expr.output_type()),
                              dtype_name(out));
    const DType read = expr.input_type(0);
    if (read != DType::kInvalid && register_type(read) != tile)
      return unsupported("the epilogue reads {}, the kernel gives {}", dtype_name(read), dtype_name(tile));
    if (expr.num_inputs > 1 + p.inputs.size() - static_cast<size_t>(p.num_main))
      return invalid_argument("the epilogue reads {} operands, the step has {}", expr.num_inputs - 1,
                              p.inputs.size() - static_cast<size_t>(p.num_main));
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
  b.trivial_ = trivial_;
  return b;
}

}  // namespace wootz::cpu
