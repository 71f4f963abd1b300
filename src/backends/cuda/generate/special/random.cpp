// Random numbers: what they are drawn from, which the host keeps memory for, and drawing, which follows from that.
#include "backends/cuda/generate/special/random.h"

#include "backends/cuda/generate/special/special.h"

namespace wootz::cuda {
namespace {

Status check_state(const Problem& p, const BindArgs& args, size_t inputs) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, inputs));
  if (p.inputs[0].dtype != DType::kI64 || !(args.inputs[0] == Dims{2}))
    return invalid_argument("a random state of {} {}", dtype_name(p.inputs[0].dtype), args.inputs[0].to_string());
  return Status();
}

}  // namespace

Status generate_random_state(const Problem& p, const BindArgs&, std::vector<Launch>* launches) {
  if (!p.inputs.empty() || p.outputs.size() != 1 || p.outputs[0].dtype != DType::kI64)
    return invalid_argument("a random state of {} operands", p.inputs.size());
  KernelSource source("random/state.cuh", false);
  source.operand("s64* __restrict__", "y0", {true, 0});
  source.operand("s64* __restrict__", "state", kRandomStatePointer);
  return source.finish(32, 1, launches);
}

Status generate_random(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_state(p, args, 1));
  const int64_t count = args.outputs[0].volume();
  if (!is_float(p.outputs[0].dtype)) return invalid_argument("random {}", dtype_name(p.outputs[0].dtype));
  if (count == 0) return Status();
  const auto& op = *op_params<RandomOpParams>(p);
  const bool normal = op.distribution == Distribution::kNormal;
  const double base = normal ? op.mean : op.low, scale = normal ? op.scale : op.high - op.low;
  if (!(base - base == 0) || !(scale - scale == 0))
    return unsupported("a distribution with a base of {} and a scale of {}", base, scale);
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, source_of_each("random/numbers.cuh", p, args, count));
  source.fixed("kNormal", normal);
  source.fixed_real("kBase", base);
  source.fixed_real("kScale", scale);
  return finish_each(count, &source, launches);
}

Status generate_bernoulli(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_state(p, args, 2));
  const int64_t count = args.outputs[0].volume();
  if (!is_float(p.inputs[1].dtype) || !(args.inputs[1] == args.outputs[0]))
    return invalid_argument("{} {} gives {}", dtype_name(p.inputs[1].dtype), args.inputs[1].to_string(),
                            args.outputs[0].to_string());
  if (count == 0) return Status();
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, source_of_each("random/bernoulli.cuh", p, args, count));
  return finish_each(count, &source, launches);
}

Status generate_multinomial(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_state(p, args, 2));
  const Dims &x = args.inputs[1], &y = args.outputs[0];
  if (!is_float(p.inputs[1].dtype) || !is_integer(p.outputs[0].dtype) || x.rank() != 2 || y.rank() != 2 || x[0] != y[0])
    return invalid_argument("{} drawn from {} {}", y.to_string(), dtype_name(p.inputs[1].dtype), x.to_string());
  if (y.volume() == 0) return Status();
  if (x[1] == 0) return invalid_argument("there are no classes to draw from");
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, source_of_each("random/multinomial.cuh", p, args, y.volume()));
  source.number("samples", y[1]);
  source.number("classes", x[1]);
  return finish_each(y.volume(), &source, launches);
}

}  // namespace wootz::cuda
