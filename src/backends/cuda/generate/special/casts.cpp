// Casts that are no expression: bits that are taken for another type, and to the powers of two with their roundings.
#include "backends/cuda/generate/special/special.h"

namespace wootz::cuda {

Status generate_bit_cast(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 1));
  if (dtype_bits(p.inputs[0].dtype) != dtype_bits(p.outputs[0].dtype))
    return invalid_argument("bits of {} as {}", dtype_name(p.inputs[0].dtype), dtype_name(p.outputs[0].dtype));
  Problem copy = p;
  copy.inputs[0].dtype = copy.outputs[0].dtype;
  return generate_reformat(copy, args, launches);
}

Status generate_cast_e8m0(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 1));
  const Dims& x = args.inputs[0];
  const auto& op = *op_params<CastE8M0OpParams>(p);
  const PowerRounding mode = op.round_mode;
  if (p.outputs[0].dtype != DType::kF8E8M0 || !(x == args.outputs[0]))
    return invalid_argument("{} to powers of two by '{}'", x.to_string(), name_of(mode));
  if (x.volume() == 0) return Status();
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, source_of_each("special/cast_e8m0.cuh", p, args, x.volume()));
  source.fixed("kSaturate", op.saturate);
  source.fixed("kUp", mode == PowerRounding::kUp);
  source.fixed("kDown", mode == PowerRounding::kDown);
  return finish_each(x.volume(), &source, launches);
}

}  // namespace wootz::cuda
